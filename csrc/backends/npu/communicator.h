// One process's end of a group of NPUs that HCCL connects.
#pragma once

#include <string>

#include "backends/npu/hccl_api.h"
#include "devices/communicator.h"

namespace mt::npu {

struct CommunicatorOptions {
  std::string name;          // in messages of the library; empty: its own
  int64_t exec_timeout = 0;  // seconds that a collective waits for the others; 0: the library's
  uint32_t buffer_mib = 0;   // for data under way; 0: the library's
};

class Communicator final : public devices::Communicator {
 public:
  // What one process makes and all others of the group are given.
  static std::string new_root_info(int device);

  // Returns when all have called it.
  Communicator(int device, const std::string& root_info, uint32_t ranks, uint32_t rank,
               const CommunicatorOptions& options);

 private:
  const Names& names() const override;
  Wire wire(DType dtype) const override;
  int failure(std::string* text) override;
  void end(bool orderly) override;

  void call_all_reduce(const Buffer& data, devices::Reduction op, void* stream) override;
  void call_reduce(const Buffer& data, devices::Reduction op, uint32_t root, void* stream) override;
  void call_broadcast(const Buffer& data, uint32_t root, void* stream) override;
  void call_all_gather(const Buffer& out, const Buffer& data, void* stream) override;
  void call_reduce_scatter(const Buffer& out, const Buffer& data, devices::Reduction op,
                           void* stream) override;
  void call_scatter(const Buffer& out, const Buffer& data, uint32_t root, void* stream) override;
  void call_all_to_all(const Buffer& out, const Parts& receives, const Buffer& data, const Parts& sends,
                       void* stream) override;
  void call_send(const Buffer& data, uint32_t peer, void* stream) override;
  void call_receive(const Buffer& out, uint32_t peer, void* stream) override;
  void call_barrier(void* stream) override;

  HcclComm comm_ = nullptr;
};

}  // namespace mt::npu
