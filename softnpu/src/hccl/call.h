// What the exported functions of libhccl share: checked arguments, and the way to a stream.
#pragma once

#include <memory>
#include <string>

#include "hccl/collective.h"
#include "hccl/communicator.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

// First line of an exported function: SOFTNPU_ENTER for a HcclResult.
#define HCCL_ENTER(function, ...) \
  SOFTNPU_ENTER_AS(ordinary, HcclResult(injected), function __VA_OPT__(, ) __VA_ARGS__)
#define HCCL_ENTER_CLEANUP(function, ...) \
  SOFTNPU_ENTER_AS(cleanup, HcclResult(injected), function __VA_OPT__(, ) __VA_ARGS__)

namespace softnpu::hccl {

// Runs the body of an exported function and turns what it throws into the code and the message.
template <class Body>
HcclResult guarded(const char* function, const Body& body) {
  try {
    body();
    return HCCL_SUCCESS;
  } catch (const Failure& failure) {
    return HcclResult(fail(failure.code, function, ": ", failure.what()));
  } catch (const std::exception& problem) {
    return HcclResult(fail(HCCL_E_INTERNAL, function, ": ", problem.what()));
  }
}

template <class T>
T* require_pointer(T* pointer, const char* name) {
  if (pointer == nullptr) refuse(HCCL_E_PTR, name, " is NULL");
  return pointer;
}

// A call of a collective, a send or a receive: its communicator and stream, checked.
class Call {
 public:
  Call(const char* function, HcclComm communicator, aclrtStream stream);

  // `count` elements at `buffer` must be live memory of the communicator's device: where their bytes are.
  Block block(const void* buffer, const char* name, uint64_t count, HcclDataType type) const;
  void require_rank(uint32_t rank, const char* name) const;
  std::unique_ptr<Collective> collective(Collective::Pattern pattern, const Signature& signature) const;
  // Puts it on the stream, or into the thread's group.
  void launch(std::unique_ptr<Operation> operation) const;

  const char* const name;
  const std::shared_ptr<Communicator> comm;

 private:
  aclrtStream stream_;
};

// Operations between HcclGroupStart and HcclGroupEnd of a thread.
bool in_group();
void add_to_group(aclrtStream stream, std::unique_ptr<Operation> operation);

}  // namespace softnpu::hccl
