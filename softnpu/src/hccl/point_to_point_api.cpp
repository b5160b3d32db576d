// The exported sends and receives.
#include "hccl/call.h"
#include "hccl/element.h"
#include "hccl/point_to_point.h"

namespace softnpu::hccl {
namespace {

HcclResult transfer(const char* function, Transfer::Direction direction, void* buffer,
                    const char* buffer_name, uint64_t count, HcclDataType type, uint32_t peer,
                    const char* peer_name, HcclComm comm, aclrtStream stream) {
  return guarded(function, [&] {
    const Call call(function, comm, stream);
    call.require_rank(peer, peer_name);
    if (peer == call.comm->rank()) refuse(HCCL_E_PARA, peer_name, " is ", peer, ", the calling rank itself");
    const Block data = call.block(buffer, buffer_name, count, type);
    if (count == 0) return;
    auto operation = std::make_unique<Transfers>(call.comm, function);
    operation->items.emplace_back(direction, peer, data.data, count, type);
    call.launch(std::move(operation));
  });
}

}  // namespace
}  // namespace softnpu::hccl

using namespace softnpu;
using namespace softnpu::hccl;

SOFTNPU_EXPORT HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                                   HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclSend, sendBuf, count, dataType, destRank, comm, stream);
  return transfer("HcclSend", Transfer::Direction::send, sendBuf, "sendBuf", count, dataType, destRank,
                  "destRank", comm, stream);
}

SOFTNPU_EXPORT HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                                   HcclComm comm, aclrtStream stream) {
  HCCL_ENTER(HcclRecv, recvBuf, count, dataType, srcRank, comm, stream);
  return transfer("HcclRecv", Transfer::Direction::receive, recvBuf, "recvBuf", count, dataType, srcRank,
                  "srcRank", comm, stream);
}

SOFTNPU_EXPORT HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                            aclrtStream stream) {
  HCCL_ENTER(HcclBatchSendRecv, sendRecvInfo, itemNum, comm, stream);
  return guarded("HcclBatchSendRecv", [&] {
    const Call call("HcclBatchSendRecv", comm, stream);
    if (itemNum == 0) return;
    require_pointer(sendRecvInfo, "sendRecvInfo");
    auto operation = std::make_unique<Transfers>(call.comm, "HcclBatchSendRecv");
    for (uint32_t i = 0; i < itemNum; ++i) {
      const HcclSendRecvItem& item = sendRecvInfo[i];
      call.require_rank(item.remoteRank, "remoteRank");
      if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV)
        refuse(HCCL_E_PARA, "item ", i, " has the type ", unsigned(item.sendRecvType),
               ", wanted HCCL_SEND (0) or HCCL_RECV (1)");
      const Block data = call.block(item.buf, "buf", item.count, item.dataType);
      if (item.count == 0) continue;
      const auto direction =
          item.sendRecvType == HCCL_SEND ? Transfer::Direction::send : Transfer::Direction::receive;
      operation->items.emplace_back(direction, item.remoteRank, data.data, item.count, item.dataType);
    }
    if (!operation->items.empty()) call.launch(std::move(operation));
  });
}
