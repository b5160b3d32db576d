// The exported collectives: what each rank sends and receives, in terms of the patterns of collective.h.
#include <algorithm>

#include "hccl/call.h"
#include "hccl/element.h"

namespace softnpu::hccl {
namespace {

using Pattern = Collective::Pattern;

// A block for each rank, of equal length, one after the other.
std::vector<Block> divided(const Block& whole, uint32_t ranks) {
  std::vector<Block> blocks(ranks);
  const uint64_t each = whole.bytes / ranks;
  for (uint32_t rank = 0; rank < ranks; ++rank) blocks[rank] = {whole.data + rank * each, each};
  return blocks;
}

// A block for each rank from counts and displacements (both in elements).
std::vector<Block> listed(const Call& call, const void* buffer, const char* name, const uint64_t* counts,
                          const uint64_t* displacements, HcclDataType type) {
  std::vector<Block> blocks(call.comm->ranks());
  for (uint32_t rank = 0; rank < blocks.size(); ++rank) {
    const uint64_t begin = displacements[rank] * element_size(type);
    blocks[rank] = call.block(buffer == nullptr ? nullptr : static_cast<const char*>(buffer) + begin, name,
                              counts[rank], type);
  }
  return blocks;
}

// Where each of blocks that follow each other begins.
std::vector<uint64_t> running_sum(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> begins(counts.size());
  for (size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  return begins;
}

void require_apart(const std::vector<Block>& send, const std::vector<Block>& receive) {
  for (const Block& out : send)
    for (const Block& in : receive)
      if (out.bytes != 0 && in.bytes != 0 && out.data < in.data + in.bytes && in.data < out.data + out.bytes)
        refuse(HCCL_E_PARA, "sendBuf and recvBuf overlap");
}

const uint64_t* counts_argument(const void* counts, const char* name) {
  return static_cast<const uint64_t*>(require_pointer(counts, name));
}

void exchange(const Call& call, std::vector<Block> send, std::vector<Block> receive, HcclDataType type) {
  require_apart(send, receive);
  auto operation = call.collective(Pattern::split, {.type = type});
  operation->send = std::move(send);
  operation->receive = std::move(receive);
  call.launch(std::move(operation));
}

}  // namespace
}  // namespace softnpu::hccl

using namespace softnpu;
using namespace softnpu::hccl;

SOFTNPU_EXPORT HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                        HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAllReduce, sendBuf, recvBuf, count, dataType, op, comm, stream);
  return guarded("HcclAllReduce", [&] {
    const Call call("HcclAllReduce", comm, stream);
    require_reducible(dataType, op);
    if (count == 0) return;
    auto operation = call.collective(Pattern::combine, {.count = count, .type = dataType, .reduction = op});
    operation->send = {call.block(sendBuf, "sendBuf", count, dataType)};
    operation->receive = {call.block(recvBuf, "recvBuf", count, dataType)};
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                     HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclReduce, sendBuf, recvBuf, count, dataType, op, root, comm, stream);
  return guarded("HcclReduce", [&] {
    const Call call("HcclReduce", comm, stream);
    require_reducible(dataType, op);
    call.require_rank(root, "root");
    if (count == 0) return;
    auto operation =
        call.collective(Pattern::combine, {.count = count, .type = dataType, .reduction = op, .root = root});
    operation->send = {call.block(sendBuf, "sendBuf", count, dataType)};
    operation->wants_result = call.comm->rank() == root;
    if (operation->wants_result) operation->receive = {call.block(recvBuf, "recvBuf", count, dataType)};
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                        HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclBroadcast, buf, count, dataType, root, comm, stream);
  return guarded("HcclBroadcast", [&] {
    const Call call("HcclBroadcast", comm, stream);
    call.require_rank(root, "root");
    const Block data = call.block(buf, "buf", count, dataType);
    if (count == 0) return;
    auto operation = call.collective(Pattern::shared, {.count = count, .type = dataType, .root = root});
    if (call.comm->rank() == root) {
      operation->send = {data};
    } else {
      operation->receive.resize(call.comm->ranks());
      operation->receive[root] = data;
    }
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount,
                                        HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAllGather, sendBuf, recvBuf, sendCount, dataType, comm, stream);
  return guarded("HcclAllGather", [&] {
    const Call call("HcclAllGather", comm, stream);
    const uint32_t ranks = call.comm->ranks();
    const Block out = call.block(sendBuf, "sendBuf", sendCount, dataType);
    if (sendCount == 0) return;
    auto operation = call.collective(Pattern::shared, {.count = sendCount, .type = dataType});
    operation->send = {out};
    operation->receive = divided(call.block(recvBuf, "recvBuf", sendCount * ranks, dataType), ranks);
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf,
                                         const void* recvCounts, const void* recvDispls,
                                         HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAllGatherV, sendBuf, sendCount, recvBuf, dataType, comm, stream);
  return guarded("HcclAllGatherV", [&] {
    const Call call("HcclAllGatherV", comm, stream);
    auto operation = call.collective(Pattern::shared, {.type = dataType});
    operation->send = {call.block(sendBuf, "sendBuf", sendCount, dataType)};
    operation->receive = listed(call, recvBuf, "recvBuf", counts_argument(recvCounts, "recvCounts"),
                                counts_argument(recvDispls, "recvDispls"), dataType);
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                            HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                            aclrtStream stream) {
  HCCL_ENTER(HcclReduceScatter, sendBuf, recvBuf, recvCount, dataType, op, comm, stream);
  return guarded("HcclReduceScatter", [&] {
    const Call call("HcclReduceScatter", comm, stream);
    const uint32_t ranks = call.comm->ranks();
    require_reducible(dataType, op);
    const Block in = call.block(recvBuf, "recvBuf", recvCount, dataType);
    if (recvCount == 0) return;
    auto operation =
        call.collective(Pattern::reduce, {.count = recvCount, .type = dataType, .reduction = op});
    operation->send = divided(call.block(sendBuf, "sendBuf", recvCount * ranks, dataType), ranks);
    operation->receive = {in};
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                                             void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                             HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclReduceScatterV, sendBuf, recvBuf, recvCount, dataType, op, comm, stream);
  return guarded("HcclReduceScatterV", [&] {
    const Call call("HcclReduceScatterV", comm, stream);
    require_reducible(dataType, op);
    auto operation = call.collective(Pattern::reduce, {.type = dataType, .reduction = op});
    operation->send = listed(call, sendBuf, "sendBuf", counts_argument(sendCounts, "sendCounts"),
                             counts_argument(sendDispls, "sendDispls"), dataType);
    operation->receive = {call.block(recvBuf, "recvBuf", recvCount, dataType)};
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                      uint32_t root, HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclScatter, sendBuf, recvBuf, recvCount, dataType, root, comm, stream);
  return guarded("HcclScatter", [&] {
    const Call call("HcclScatter", comm, stream);
    const uint32_t ranks = call.comm->ranks();
    call.require_rank(root, "root");
    const Block in = call.block(recvBuf, "recvBuf", recvCount, dataType);
    if (recvCount == 0) return;
    auto operation = call.collective(Pattern::split, {.count = recvCount, .type = dataType, .root = root});
    operation->receive.resize(ranks);
    operation->receive[root] = in;
    if (call.comm->rank() == root)
      operation->send = divided(call.block(sendBuf, "sendBuf", recvCount * ranks, dataType), ranks);
    call.launch(std::move(operation));
  });
}

SOFTNPU_EXPORT HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                                       const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                                       HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAll, sendBuf, sendCount, sendType, recvBuf, recvCount, recvType, comm, stream);
  return guarded("HcclAlltoAll", [&] {
    const Call call("HcclAlltoAll", comm, stream);
    const uint32_t ranks = call.comm->ranks();
    if (sendCount * element_size(sendType) != recvCount * element_size(recvType))
      refuse(HCCL_E_PARA, "sends ", sendCount, " elements of ", element_name(sendType), " but receives ",
             recvCount, " of ", element_name(recvType));
    if (sendCount == 0) return;
    exchange(call, divided(call.block(sendBuf, "sendBuf", sendCount * ranks, sendType), ranks),
             divided(call.block(recvBuf, "recvBuf", recvCount * ranks, recvType), ranks), sendType);
  });
}

SOFTNPU_EXPORT HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                        HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                        const void* rdispls, HcclDataType recvType, HcclComm comm,
                                        aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAllV, sendBuf, sendType, recvBuf, recvType, comm, stream);
  return guarded("HcclAlltoAllV", [&] {
    const Call call("HcclAlltoAllV", comm, stream);
    exchange(call,
             listed(call, sendBuf, "sendBuf", counts_argument(sendCounts, "sendCounts"),
                    counts_argument(sdispls, "sdispls"), sendType),
             listed(call, recvBuf, "recvBuf", counts_argument(recvCounts, "recvCounts"),
                    counts_argument(rdispls, "rdispls"), recvType),
             sendType);
  });
}

SOFTNPU_EXPORT HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix,
                                         HcclDataType sendType, const void* recvBuf, HcclDataType recvType,
                                         HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclAlltoAllVC, sendBuf, sendType, recvBuf, recvType, comm, stream);
  return guarded("HcclAlltoAllVC", [&] {
    const Call call("HcclAlltoAllVC", comm, stream);
    const uint32_t ranks = call.comm->ranks(), own = call.comm->rank();
    const uint64_t* matrix = counts_argument(sendCountMatrix, "sendCountMatrix");
    // Row r is what rank r sends to each; the blocks follow each other in both buffers.
    std::vector<uint64_t> sends(matrix + own * ranks, matrix + (own + 1) * ranks), receives(ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) receives[rank] = matrix[rank * ranks + own];
    exchange(call, listed(call, sendBuf, "sendBuf", sends.data(), running_sum(sends).data(), sendType),
             listed(call, recvBuf, "recvBuf", receives.data(), running_sum(receives).data(), recvType),
             sendType);
  });
}

SOFTNPU_EXPORT HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclBarrier, comm, stream);
  return guarded("HcclBarrier", [&] {
    const Call call("HcclBarrier", comm, stream);
    call.launch(call.collective(Pattern::barrier, {}));
  });
}
