// Tasks on a word of device memory, and hints about the card's caches.
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

constexpr int64_t kSpin = 20'000, kPause = 50'000;  // ns

int check_word(const char* function, const void* address) {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": devAddr is NULL");
  if (uintptr_t(address) % 8 != 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": devAddr ", address, " is not a multiple of 8");
  if (!is_live(address, 8))
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": devAddr ", address,
                " is not in a live device allocation");
  return 0;
}

bool fulfilled(uint64_t word, uint64_t value, uint32_t how) {
  switch (how) {
    case ACL_STREAM_WAIT_VALUE_GEQ: return int64_t(word - value) >= 0;
    case ACL_STREAM_WAIT_VALUE_EQ: return word == value;
    case ACL_STREAM_WAIT_VALUE_AND: return (word & value) != 0;
    default: return ~(word | value) != 0;
  }
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtValueWrite, devAddr, value, flag, stream);
  if (const int code = check_word("aclrtValueWrite", devAddr)) return code;
  if (flag != 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtValueWrite: flag is ", flag, ", wanted 0");
  int code = 0;
  Stream* found = use_stream("aclrtValueWrite", stream, &code);
  if (found == nullptr) return code;
  found->submit("aclrtValueWrite", Task::Kind::order,
                [word = static_cast<uint64_t*>(host_address(devAddr)), value] {
                  __atomic_store_n(word, value, __ATOMIC_RELEASE);
                });
  return ACL_SUCCESS;
}

// Anything may write the word (an operator, a copy, another process), so the stream looks at it again and
// again.
SOFTNPU_EXPORT aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtValueWait, devAddr, value, flag, stream);
  if (const int code = check_word("aclrtValueWait", devAddr)) return code;
  if (flag > ACL_STREAM_WAIT_VALUE_NOR)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtValueWait: flag is ", flag, ", wanted 0 to 3");
  int code = 0;
  Stream* found = use_stream("aclrtValueWait", stream, &code);
  if (found == nullptr) return code;
  found->submit("aclrtValueWait", Task::Kind::order,
                [word = static_cast<uint64_t*>(host_address(devAddr)), value, flag] {
                  auto ready = [&] {
                    return fulfilled(__atomic_load_n(word, __ATOMIC_ACQUIRE), value, flag);
                  };
                  std::atomic<uint32_t> nobody{0};
                  while (!spin_until(ready, kSpin) && !task_should_give_up()) futex_wait(nobody, 0, kPause);
                });
  return ACL_SUCCESS;
}

// The host's caches are its own affair: the range is checked, nothing else happens.
SOFTNPU_EXPORT aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtCmoAsync, src, size, cmoType, stream);
  if (cmoType < ACL_RT_CMO_TYPE_PREFETCH || cmoType > ACL_RT_CMO_TYPE_FLUSH)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCmoAsync: cmoType is ", int(cmoType), ", wanted 0 to 3");
  if (size == 0 || !is_live(src, size))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCmoAsync: ", src, " + ", size,
                " bytes is not inside one live device allocation");
  int code = 0;
  return use_stream("aclrtCmoAsync", stream, &code) == nullptr ? code : ACL_SUCCESS;
}
