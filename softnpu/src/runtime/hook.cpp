#include "runtime/hook.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <vector>

#include "acl_abi.h"
#include "runtime/config.h"
#include "runtime/error.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {

std::atomic<uint32_t> hook_flags{0};

namespace {

struct Rule {
  std::string function;
  uint64_t calls_left;  // until the first failure; 1 = the next matching call
  int code;
  int64_t failures_left;  // -1 = for ever
};

// Never destroyed: stream threads may still be running tasks while the process ends.
struct Hooks {
  std::mutex mutex;
  std::vector<Rule> rules;
  uint64_t failures = 0;
  std::atomic<uint64_t> calls{0};
  std::FILE* trace = nullptr;
};

Hooks& hooks() {
  static Hooks* instance = new Hooks;
  return *instance;
}

void set_flag(uint32_t flag, bool on) {
  if (on) hook_flags.fetch_or(flag);
  else hook_flags.fetch_and(~flag);
}

bool matches(const Rule& rule, std::string_view function, CallKind kind) {
  return rule.function == function || (rule.function == "*" && kind == CallKind::ordinary);
}

// The code of the first rule whose turn it is. Every matching rule counts the call, so rules are independent.
int take_fault(std::string_view function, CallKind kind, std::string_view any) {
  Hooks& h = hooks();
  std::lock_guard lock(h.mutex);
  int code = 0;
  for (Rule& rule : h.rules) {
    if (!matches(rule, function, kind) && rule.function != any) continue;
    if (rule.failures_left == 0) continue;
    if (rule.calls_left > 1) {
      --rule.calls_left;
      continue;
    }
    if (rule.failures_left > 0) --rule.failures_left;
    if (code == 0) code = rule.code;
  }
  if (code != 0) ++h.failures;
  return code;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void trace_line(const char* function, const std::string& args) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  Hooks& h = hooks();
  std::lock_guard lock(h.mutex);
  if (h.trace == nullptr) return;
  std::fprintf(h.trace, "{\"function\": \"%s\", \"args\": {%s}, \"thread\": %d, \"time_ns\": %lld}\n",
               function, args.c_str(), int(gettid()), static_cast<long long>(ns));
}

int on_call(const char* function, CallKind kind, const std::string& args) {
  if (hooked(kForked))
    return fail(
        ACL_ERROR_RT_DRV_INTERNAL_ERROR, function,
        ": this process was forked after the device was used; start it with spawn, or fork before the "
        "first use");
  if (hooked(kSanitize)) sanitizer::begin_call();
  if (hooked(kTrace)) trace_line(function, args);
  if (hooked(kCount) && kind == CallKind::ordinary) hooks().calls.fetch_add(1);
  if (!hooked(kFaults)) return 0;
  const int code = take_fault(function, kind, {});
  return code == 0 ? 0
                   : fail(code, function, ": failed on request (softnpu_fail or SOFTNPU_FAIL), code ", code);
}

int on_task(const char* name) {
  if (!hooked(kFaults)) return 0;
  return take_fault(std::string("task:") + name, CallKind::cleanup, "task:*");
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT void softnpu_fail(const char* function, uint64_t nth, int code, int64_t count) {
  if (function == nullptr || nth == 0 || code == 0) return;
  Hooks& h = hooks();
  std::lock_guard lock(h.mutex);
  h.rules.push_back({function, nth, code, count});
  set_flag(kFaults, true);
}

SOFTNPU_EXPORT void softnpu_fail_clear(void) {
  Hooks& h = hooks();
  std::lock_guard lock(h.mutex);
  h.rules.clear();
  h.failures = 0;
  set_flag(kFaults, false);
}

SOFTNPU_EXPORT uint64_t softnpu_failures(void) {
  std::lock_guard lock(hooks().mutex);
  return hooks().failures;
}

SOFTNPU_EXPORT void softnpu_calls_reset(void) {
  hooks().calls.store(0);
  set_flag(kCount, true);
}

SOFTNPU_EXPORT uint64_t softnpu_calls(void) { return hooks().calls.load(); }

SOFTNPU_EXPORT int softnpu_trace(const char* path) {
  std::FILE* opened = path == nullptr ? nullptr : std::fopen(path, "we");
  Hooks& h = hooks();
  std::lock_guard lock(h.mutex);
  if (h.trace != nullptr) std::fclose(h.trace);
  h.trace = opened;
  set_flag(kTrace, opened != nullptr);
  return path == nullptr || opened != nullptr;
}
