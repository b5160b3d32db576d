#include "backends/cuda/communicator.h"

#include <cstring>

#include "base/error.h"

namespace mt::cuda {
namespace {

devices::StreamAccelerator& streams_of(Device device) {
  auto* found = dynamic_cast<devices::StreamAccelerator*>(&accelerator(device.type));
  MT_CHECK_AS(value, found, "NCCL connects devices with streams, got ", to_string(device));
  return *found;
}

// Sends and receives between begin and end are one operation, in which nobody waits for another.
class Group {
 public:
  Group() { nccl::check(nccl::api().group_start(), "ncclGroupStart"); }
  void end(nccl::Communicator communicator) {
    open_ = false;
    nccl::check(nccl::api().group_end(), "ncclGroupEnd", communicator);
  }
  ~Group() {
    if (open_) nccl::api().group_end();  // an error is on its way already
  }
  Group(const Group&) = delete;

 private:
  bool open_ = true;
};

void* part(const void* data, uint64_t index, size_t size) {
  return const_cast<char*>(static_cast<const char*>(data)) + index * size;
}

}  // namespace

std::string Communicator::new_id() {
  nccl::UniqueId id;
  nccl::check(nccl::api().new_id(&id), "ncclGetUniqueId");
  return {id.bytes, sizeof id.bytes};
}

Communicator::Communicator(Device device, const std::string& id, uint32_t ranks, uint32_t rank,
                           const std::string& name)
    : devices::Communicator(streams_of(device), device.index, ranks, rank, name) {
  nccl::UniqueId known;
  MT_CHECK_AS(value, id.size() == sizeof known.bytes, "an id of NCCL has ", sizeof known.bytes,
              " bytes, got ", id.size());
  std::memcpy(known.bytes, id.data(), id.size());
  accelerator_.open(device_);
  accelerator_.activate(device_);
  nccl::check(nccl::api().join(&comm_, int(ranks), known, int(rank)), "ncclCommInitRank");
  connected();
}

void Communicator::end(bool orderly) {
  if (!orderly) return check(nccl::api().abort(comm_), "ncclCommAbort");
  check(nccl::api().finalize(comm_), "ncclCommFinalize");
  nccl::check(nccl::api().destroy(comm_), "ncclCommDestroy");
}

int Communicator::failure(std::string* text) {
  nccl::Status found = 0;
  check(nccl::api().asynchronous_error(comm_, &found), "ncclCommGetAsyncError");
  if (found == 0 || found == nccl::kInProgress) return 0;
  const char* last = nccl::api().last_error(comm_);
  *text = join_text(nccl::api().error_text(found), last && *last ? ": " : "", last ? last : "");
  return found;
}

const Communicator::Names& Communicator::names() const {
  static const Names all{"ncclAllReduce",     "ncclReduce",  "ncclBroadcast", "ncclAllGather",
                         "ncclReduceScatter", "ncclScatter", "ncclAllToAll",  "ncclSend",
                         "ncclRecv",          "ncclBarrier"};
  return all;
}

Communicator::Wire Communicator::wire(DType dtype) const {
  switch (dtype) {
    case DType::uint8:
    case DType::boolean: return {nccl::kUint8};
    case DType::int8: return {nccl::kInt8};
    case DType::int32: return {nccl::kInt32};
    case DType::uint32: return {nccl::kUint32};
    case DType::int64: return {nccl::kInt64};
    case DType::uint64: return {nccl::kUint64};
    case DType::float16: return {nccl::kFloat16};
    case DType::bfloat16: return {nccl::kBfloat16};
    case DType::float32: return {nccl::kFloat32};
    case DType::float64: return {nccl::kFloat64};
    case DType::float8_e4m3fn: return {nccl::kFloat8E4m3};
    case DType::float8_e5m2: return {nccl::kFloat8E5m2};
    case DType::complex32: return {nccl::kFloat16, 2};
    case DType::complex64: return {nccl::kFloat32, 2};
    case DType::complex128: return {nccl::kFloat64, 2};
    default: return {nccl::kUint8, int(info(dtype).itemsize), false};  // bytes, which only travel
  }
}

void Communicator::call_all_reduce(const Buffer& data, devices::Reduction op, void* stream) {
  check(nccl::api().all_reduce(data.data, data.data, data.count, data.type, int(op), comm_, stream),
        names().all_reduce);
}

void Communicator::call_reduce(const Buffer& data, devices::Reduction op, uint32_t root, void* stream) {
  check(nccl::api().reduce(data.data, data.data, data.count, data.type, int(op), int(root), comm_, stream),
        names().reduce);
}

void Communicator::call_broadcast(const Buffer& data, uint32_t root, void* stream) {
  check(nccl::api().broadcast(data.data, data.data, data.count, data.type, int(root), comm_, stream),
        names().broadcast);
}

void Communicator::call_all_gather(const Buffer& out, const Buffer& data, void* stream) {
  check(nccl::api().all_gather(data.data, out.data, data.count, data.type, comm_, stream),
        names().all_gather);
}

void Communicator::call_reduce_scatter(const Buffer& out, const Buffer& data, devices::Reduction op,
                                       void* stream) {
  check(nccl::api().reduce_scatter(data.data, out.data, out.count, data.type, int(op), comm_, stream),
        names().reduce_scatter);
}

void Communicator::call_scatter(const Buffer& out, const Buffer& data, uint32_t root, void* stream) {
  Group group;
  if (rank_ == root)
    for (uint32_t peer = 0; peer < ranks_; ++peer)
      check(nccl::api().send(part(data.data, peer * out.count, out.size), out.count, out.type, int(peer),
                             comm_, stream),
            "ncclSend");
  check(nccl::api().receive(out.data, out.count, out.type, int(root), comm_, stream), "ncclRecv");
  group.end(comm_);
}

void Communicator::call_all_to_all(const Buffer& out, const Parts& receives, const Buffer& data,
                                   const Parts& sends, void* stream) {
  Group group;
  for (uint32_t peer = 0; peer < ranks_; ++peer) {
    if (sends.counts[peer])
      check(nccl::api().send(part(data.data, sends.begins[peer], data.size), sends.counts[peer], data.type,
                             int(peer), comm_, stream),
            "ncclSend");
    if (receives.counts[peer])
      check(nccl::api().receive(part(out.data, receives.begins[peer], out.size), receives.counts[peer],
                                out.type, int(peer), comm_, stream),
            "ncclRecv");
  }
  group.end(comm_);
}

void Communicator::call_send(const Buffer& data, uint32_t peer, void* stream) {
  check(nccl::api().send(data.data, data.count, data.type, int(peer), comm_, stream), names().send);
}

void Communicator::call_receive(const Buffer& out, uint32_t peer, void* stream) {
  check(nccl::api().receive(out.data, out.count, out.type, int(peer), comm_, stream), names().receive);
}

void Communicator::call_barrier(void* stream) {
  if (!room_) room_ = new_storage({accelerator_.slot(), int8_t(device_)}, 1);
  check(nccl::api().all_reduce(room_->data, room_->data, 1, nccl::kUint8, nccl::kMax, comm_, stream),
        names().barrier);
}

}  // namespace mt::cuda
