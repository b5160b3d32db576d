// Copies and fills, synchronous and in a stream.
#include <cstring>

#include "runtime/capture.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/memory.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {
namespace {

// Both ends of a checked copy, as addresses the CPU may use. For one row: height 1, pitches unused.
struct Copy {
  char* destination;
  const char* source;
  size_t width, height, destination_pitch, source_pitch;
  bool pinned;  // every host end is pinned, so the copy may run later

  void run() const {
    for (size_t row = 0; row < height; ++row)
      std::memmove(destination + row * destination_pitch, source + row * source_pitch, width);
  }
};

enum class End { host, device, any };

End destination_end(aclrtMemcpyKind kind) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
    case ACL_MEMCPY_DEVICE_TO_HOST: return End::host;
    case ACL_MEMCPY_DEFAULT: return End::any;
    default: return End::device;
  }
}

End source_end(aclrtMemcpyKind kind) {
  switch (kind) {
    case ACL_MEMCPY_DEVICE_TO_HOST:
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: return End::device;
    case ACL_MEMCPY_DEFAULT: return End::any;
    default: return End::host;
  }
}

// Checks one end and translates it; 0 or the recorded code.
int translate(const char* function, const char* role, const void* address, uint64_t bytes, End wanted,
              void** host) {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": ", role, " is NULL");
  const bool on_device = is_device_address(address);
  if (wanted != End::any && on_device != (wanted == End::device))
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", role, " ", address, " is a ",
                on_device ? "device" : "host", " address, but the copy kind says ",
                on_device ? "host" : "device");
  const bool live = !on_device || is_live(address, bytes);
  if (!live && sanitizer::on()) sanitizer::refused(function, role, address, bytes, role[0] == 'd');
  if (!live)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": ", role, " ", address, " + ", bytes,
                " bytes is not inside one live device allocation (freed, or too long)");
  *host = on_device ? host_address(address) : const_cast<void*>(address);
  return 0;
}

int check_peers(const char* function, const void* destination, const void* source) {
  if (!is_device_address(destination) || !is_device_address(source)) return 0;
  const int from = device_of(source), to = device_of(destination);
  if (can_reach(from, to) || can_reach(to, from)) return 0;
  return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the copy goes from device ", from, " to device ", to,
              ", but peer access is not enabled; call aclrtDeviceEnablePeerAccess");
}

int plan_copy(const char* function, void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
              size_t height, aclrtMemcpyKind kind, Copy* copy) {
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE)
    return fail(ACL_ERROR_INVALID_PARAM, function, ": kind is ", int(kind), ", which is no aclrtMemcpyKind");
  void *to = nullptr, *from = nullptr;
  const uint64_t dst_bytes = (height - 1) * dpitch + width, src_bytes = (height - 1) * spitch + width;
  int code = translate(function, "dst", dst, dst_bytes, destination_end(kind), &to);
  if (code == 0) code = translate(function, "src", src, src_bytes, source_end(kind), &from);
  if (code == 0) code = check_peers(function, dst, src);
  if (code != 0) return code;
  const bool pinned = (is_device_address(dst) || is_pinned(dst, dst_bytes)) &&
                      (is_device_address(src) || is_pinned(src, src_bytes));
  *copy = {static_cast<char*>(to), static_cast<const char*>(from), width, height, dpitch, spitch, pinned};
  return 0;
}

// What a capture records does not run now, so the sanitizer is not told.
bool to_be_told(const Stream* stream) {
  return sanitizer::on() && !(stream != nullptr && stream->recording());
}

// Tells the sanitizer about a copy that is about to happen; on the host if there is no stream.
void tell_copy(const char* function, const Stream* stream, const void* dst, const void* src,
               const Copy& copy) {
  using sanitizer::Access;
  if (to_be_told(stream)) [[unlikely]]
    sanitizer::operation(function, stream,
                         {Access::rows(src, copy.width, copy.height, copy.source_pitch, false),
                          Access::rows(dst, copy.width, copy.height, copy.destination_pitch, true)},
                         sanitizer::Effect::copies);
}

void tell_fill(const char* function, const Stream* stream, const void* address, size_t count) {
  if (to_be_told(stream)) [[unlikely]]
    sanitizer::operation(function, stream, {sanitizer::Access::rows(address, count, 1, count, true)},
                         sanitizer::Effect::computes);
}

int check_2d(const char* function, size_t dpitch, size_t spitch, size_t width) {
  if (width <= dpitch && width <= spitch) return 0;
  return fail(ACL_ERROR_INVALID_PARAM, function, ": width ", width, " is larger than a pitch (dst ", dpitch,
              ", src ", spitch, ")");
}

int check_capacity(const char* function, size_t count, size_t capacity) {
  if (count <= capacity) return 0;
  return fail(ACL_ERROR_INVALID_PARAM, function, ": count ", count, " is larger than the destination (",
              capacity, " bytes)");
}

int copy_now(const char* function, void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
             size_t height, aclrtMemcpyKind kind) {
  if (const int code = check_capture_mode(function, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT)) return code;
  Copy copy;
  if (const int code = plan_copy(function, dst, dpitch, src, spitch, width, height, kind, &copy)) return code;
  tell_copy(function, nullptr, dst, src, copy);
  copy.run();
  return ACL_SUCCESS;
}

int copy_in_stream(const char* function, void* dst, size_t dpitch, const void* src, size_t spitch,
                   size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream handle) {
  if (kind == ACL_MEMCPY_HOST_TO_HOST)
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function,
                ": an asynchronous copy from host to host is not possible");
  Copy copy;
  int code = plan_copy(function, dst, dpitch, src, spitch, width, height, kind, &copy);
  if (code != 0) return code;
  Stream* stream = use_stream(function, handle, &code);
  if (stream == nullptr) return code;
  // Pageable memory makes it a synchronous copy, which cannot be part of a capture.
  if (!copy.pinned && ((code = check_capture_mode(function, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC)) != 0 ||
                       (code = refuse_captured(function, *stream)) != 0))
    return code;
  tell_copy(function, stream, dst, src, copy);
  const uint64_t ticket = stream->submit(function, Task::Kind::work, [copy] { copy.run(); });
  // The caller may change or free pageable memory right after the call, so the copy must be over by then.
  if (!copy.pinned && !stream->is_own_thread()) stream->wait(ticket);
  return ACL_SUCCESS;
}

int plan_fill(const char* function, void* address, size_t capacity, size_t count, void** host) {
  if (const int code = check_capacity(function, count, capacity)) return code;
  return translate(function, "devPtr", address, count, End::any, host);
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                    aclrtMemcpyKind kind) {
  SOFTNPU_ENTER(aclrtMemcpy, dst, destMax, src, count, kind);
  if (count == 0) return ACL_SUCCESS;
  if (const int code = check_capacity("aclrtMemcpy", count, destMax)) return code;
  return copy_now("aclrtMemcpy", dst, count, src, count, count, 1, kind);
}

SOFTNPU_EXPORT aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtMemcpyAsync, dst, destMax, src, count, kind, stream);
  if (count == 0) return ACL_SUCCESS;
  if (const int code = check_capacity("aclrtMemcpyAsync", count, destMax)) return code;
  return copy_in_stream("aclrtMemcpyAsync", dst, count, src, count, count, 1, kind, stream);
}

// Asynchronous where the memory allows it, synchronous otherwise: what aclrtMemcpyAsync does here anyway.
SOFTNPU_EXPORT aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src,
                                                      size_t count, aclrtMemcpyKind kind,
                                                      aclrtStream stream) {
  SOFTNPU_ENTER(aclrtMemcpyAsyncWithCondition, dst, destMax, src, count, kind, stream);
  if (count == 0) return ACL_SUCCESS;
  if (const int code = check_capacity("aclrtMemcpyAsyncWithCondition", count, destMax)) return code;
  return copy_in_stream("aclrtMemcpyAsyncWithCondition", dst, count, src, count, count, 1, kind, stream);
}

namespace {

// The arrays of a batch. Directions follow from the addresses; the attributes only have to be in range.
struct Batch {
  void** dsts;
  size_t* capacities;
  void** srcs;
  size_t* sizes;
  size_t count;

  int check(const char* function, const aclrtMemcpyBatchAttr* attrs, const size_t* indexes, size_t attr_count,
            size_t* failed) const {
    if (dsts == nullptr || capacities == nullptr || srcs == nullptr || sizes == nullptr ||
        failed == nullptr || attrs == nullptr || indexes == nullptr)
      return fail(ACL_ERROR_INVALID_PARAM, function, ": an array is NULL");
    *failed = SIZE_MAX;
    if (count == 0 || attr_count == 0 || attr_count > count)
      return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": numBatches is ", count, " and numAttrs ",
                  attr_count, ", wanted at least 1 and not more attributes than copies");
    for (size_t i = 0; i < attr_count; ++i)
      if (indexes[i] >= count)
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": attrsIndexes[", i, "] is ", indexes[i],
                    ", wanted less than ", count);
    return 0;
  }

  template <class CopyOne>
  int each(const char* function, size_t* failed, const CopyOne& copy_one) const {
    for (size_t i = 0; i < count; ++i) {
      int code = sizes[i] == 0 ? 0 : check_capacity(function, sizes[i], capacities[i]);
      if (code == 0 && sizes[i] != 0) code = copy_one(dsts[i], srcs[i], sizes[i]);
      if (code == 0) continue;
      *failed = i;
      return code;
    }
    return ACL_SUCCESS;
  }
};

}  // namespace

SOFTNPU_EXPORT aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                         size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                                         size_t numAttrs, size_t* failIndex) {
  SOFTNPU_ENTER(aclrtMemcpyBatch, numBatches, numAttrs);
  const Batch batch{dsts, destMaxs, srcs, sizes, numBatches};
  if (const int code = batch.check("aclrtMemcpyBatch", attrs, attrsIndexes, numAttrs, failIndex)) return code;
  return batch.each("aclrtMemcpyBatch", failIndex, [](void* to, const void* from, size_t size) {
    return copy_now("aclrtMemcpyBatch", to, size, from, size, size, 1, ACL_MEMCPY_DEFAULT);
  });
}

SOFTNPU_EXPORT aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                              size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                              size_t* attrsIndexes, size_t numAttrs, size_t* failIndex,
                                              aclrtStream stream) {
  SOFTNPU_ENTER(aclrtMemcpyBatchAsync, numBatches, numAttrs, stream);
  const Batch batch{dsts, destMaxs, srcs, sizes, numBatches};
  if (const int code = batch.check("aclrtMemcpyBatchAsync", attrs, attrsIndexes, numAttrs, failIndex))
    return code;
  return batch.each("aclrtMemcpyBatchAsync", failIndex, [&](void* to, const void* from, size_t size) {
    return copy_in_stream("aclrtMemcpyBatchAsync", to, size, from, size, size, 1, ACL_MEMCPY_DEFAULT, stream);
  });
}

SOFTNPU_EXPORT aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                      size_t height, aclrtMemcpyKind kind) {
  SOFTNPU_ENTER(aclrtMemcpy2d, dst, dpitch, src, spitch, width, height, kind);
  if (width == 0 || height == 0) return ACL_SUCCESS;
  if (const int code = check_2d("aclrtMemcpy2d", dpitch, spitch, width)) return code;
  return copy_now("aclrtMemcpy2d", dst, dpitch, src, spitch, width, height, kind);
}

SOFTNPU_EXPORT aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind,
                                           aclrtStream stream) {
  SOFTNPU_ENTER(aclrtMemcpy2dAsync, dst, dpitch, src, spitch, width, height, kind, stream);
  if (width == 0 || height == 0) return ACL_SUCCESS;
  if (const int code = check_2d("aclrtMemcpy2dAsync", dpitch, spitch, width)) return code;
  return copy_in_stream("aclrtMemcpy2dAsync", dst, dpitch, src, spitch, width, height, kind, stream);
}

SOFTNPU_EXPORT aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  SOFTNPU_ENTER(aclrtMemset, devPtr, maxCount, value, count);
  if (count == 0) return ACL_SUCCESS;
  if (const int code = check_capture_mode("aclrtMemset", ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT)) return code;
  void* host = nullptr;
  if (const int code = plan_fill("aclrtMemset", devPtr, maxCount, count, &host)) return code;
  tell_fill("aclrtMemset", nullptr, devPtr, count);
  std::memset(host, value, count);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                         aclrtStream stream) {
  SOFTNPU_ENTER(aclrtMemsetAsync, devPtr, maxCount, value, count, stream);
  if (count == 0) return ACL_SUCCESS;
  void* host = nullptr;
  int code = plan_fill("aclrtMemsetAsync", devPtr, maxCount, count, &host);
  if (code != 0) return code;
  Stream* found = use_stream("aclrtMemsetAsync", stream, &code);
  if (found == nullptr) return code;
  tell_fill("aclrtMemsetAsync", found, devPtr, count);
  found->submit("aclrtMemsetAsync", Task::Kind::work,
                [host, value, count] { std::memset(host, value, count); });
  return ACL_SUCCESS;
}
