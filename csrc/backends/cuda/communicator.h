// One process's end of a group of devices that NCCL connects.
#pragma once

#include <string>

#include "backends/cuda/nccl.h"
#include "devices/communicator.h"

namespace mt::cuda {

class Communicator final : public devices::Communicator {
 public:
  // What one process makes and all others of the group are given.
  static std::string new_id();

  // Returns when all have called it. Streams and memory are those of the device, whose kind decides what the library is
  // called with: nothing here asks the CUDA driver.
  Communicator(Device device, const std::string& id, uint32_t ranks, uint32_t rank, const std::string& name);

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

  void check(nccl::Status code, const char* function) const { nccl::check(code, function, comm_); }

  nccl::Communicator comm_ = nullptr;
  StorageRef room_;  // one element for barriers, which the library has none of
};

}  // namespace mt::cuda
