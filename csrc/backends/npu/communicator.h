// One process's end of a group of devices that HCCL connects.
//
// Collectives are enqueued on the current stream of the device and never wait on the host. Tensors are contiguous, on the
// communicator's device, and must live until the stream has come past them: that is the caller's care
// (distributed/stream_lane.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/npu/hccl_api.h"
#include "core/tensor.h"
#include "devices/failure_watch.h"

namespace mt::npu {

struct CommunicatorOptions {
  std::string name;          // in messages of the library; empty: its own
  int64_t exec_timeout = 0;  // seconds that a collective waits for the others; 0: the library's
  uint32_t buffer_mib = 0;   // for data under way; 0: the library's
};

class Communicator {
 public:
  // What one process makes and all others of the group are given.
  static std::string new_root_info(int device);

  // Returns when all have called it.
  Communicator(int device, const std::string& root_info, uint32_t ranks, uint32_t rank,
               const CommunicatorOptions& options);
  ~Communicator() = default;  // who is not closed stays connected: the process may be ending
  Communicator(const Communicator&) = delete;
  // After the streams that used it have ended.
  void close();

  int device() const { return device_; }
  // What failed while the host was elsewhere; empty: nothing.
  std::string problem();

  void all_reduce(const Tensor& tensor, HcclReduceOp op);
  void reduce(const Tensor& tensor, uint32_t root, HcclReduceOp op);
  void broadcast(const Tensor& tensor, uint32_t root);
  void all_gather(const Tensor& out, const Tensor& tensor);
  void reduce_scatter(const Tensor& out, const Tensor& tensor, HcclReduceOp op);
  void scatter(const Tensor& out, const Tensor& tensor, uint32_t root);  // only the root has a tensor
  // Counts are elements for and from each rank, in order.
  void all_to_all(const Tensor& out, const Tensor& tensor, const std::vector<int64_t>& out_counts,
                  const std::vector<int64_t>& counts);
  void send(const Tensor& tensor, uint32_t peer);
  void receive(const Tensor& tensor, uint32_t peer);
  void barrier();

 private:
  struct Buffer {
    void* data;
    uint64_t count;
    HcclDataType type;
  };
  Buffer buffer(const Tensor& tensor, const char* function) const;
  HcclReduceOp reduction(const Tensor& tensor, HcclReduceOp op, const char* function) const;
  template <class Call>
  void launch(const char* function, uint64_t bytes, const Call& call);

  HcclComm open() const;
  // What failed, and its code; none: nothing.
  HcclResult async_error(std::string* text) const;
  void report_failure(bool told);  // throws the first time, unless somebody was told

  const int device_;
  const uint32_t ranks_, rank_;
  const std::string name_;
  HcclComm comm_ = nullptr;
  bool reported_ = false;
  std::optional<devices::FailureWatch> watch_;
};

}  // namespace mt::npu
