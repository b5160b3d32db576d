#include <cstring>
#include <numeric>
#include <thread>

#include "check.h"

namespace {

constexpr size_t kPage = size_t(2) << 20;

aclrtPhysicalMemProp huge_pages(uint32_t device = 0) {
  return {ACL_MEM_HANDLE_TYPE_NONE,
          ACL_MEM_ALLOCATION_TYPE_PINNED,
          ACL_HBM_MEM_HUGE,
          {device, ACL_MEM_LOCATION_TYPE_DEVICE},
          0};
}

// A reserved range, released at the end of the scope with whatever is mapped in it.
struct Range {
  explicit Range(size_t bytes) { OK(aclrtReserveMemAddress(&begin, bytes, 0, nullptr, 1)); }
  ~Range() {
    for (size_t i = 0; i < 16; ++i) aclrtUnmapMem(at(i));
    aclrtReleaseMemAddress(begin);
  }
  char* at(size_t page) const { return static_cast<char*>(begin) + page * kPage; }
  void* begin = nullptr;
};

struct Physical {
  explicit Physical(size_t bytes = kPage) {
    const aclrtPhysicalMemProp prop = huge_pages();
    OK(aclrtMallocPhysical(&handle, bytes, &prop, 0));
  }
  ~Physical() {
    if (handle != nullptr) aclrtFreePhysical(handle);
  }
  operator aclrtDrvMemHandle() const { return handle; }
  aclrtDrvMemHandle handle = nullptr;
};

std::string text_at(const void* device, size_t bytes) {
  std::string text(bytes, '?');
  OK(aclrtMemcpy(text.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  return text;
}

void write_text(void* device, const std::string& text) {
  OK(aclrtMemcpy(device, text.size(), text.data(), text.size(), ACL_MEMCPY_HOST_TO_DEVICE));
}

}  // namespace

TEST("reserved addresses are no memory until something is mapped") {
  const uint64_t before = softnpu_live_bytes(0);
  Range range(8 * kPage);
  CHECK_EQUAL(softnpu_live_bytes(0), before);
  char host[16] = {};
  FAILS(aclrtMemcpy(range.begin, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "live device");
  Physical memory;
  CHECK_EQUAL(softnpu_live_bytes(0), before + kPage);
  OK(aclrtMapMem(range.at(3), kPage, 0, memory, 0));
  write_text(range.at(3), "hello");
  CHECK_EQUAL(text_at(range.at(3), 5), std::string("hello"));
  FAILS(aclrtMemcpy(range.at(2), 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "live device");
  OK(aclrtUnmapMem(range.at(3)));
  FAILS(aclrtMemcpy(range.at(3), 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "live device");
}

TEST("a range can be larger than the memory of the device") { Range range(size_t(256) << 20); }

TEST("addresses can be reserved before a device is set, and belong to the first one") {
  void* range = nullptr;
  std::thread([&] { OK(aclrtReserveMemAddress(&range, kPage, 0, nullptr, 1)); }).join();
  Physical here;
  OK(aclrtMapMem(range, kPage, 0, here, 0));
  OK(aclrtUnmapMem(range));
  const aclrtPhysicalMemProp prop = huge_pages(1);
  aclrtDrvMemHandle there = nullptr;
  OK(aclrtMallocPhysical(&there, kPage, &prop, 0));
  FAILS(aclrtMapMem(range, kPage, 0, there, 0), 207000, "reserved on device 0");
  OK(aclrtFreePhysical(there));
  OK(aclrtReleaseMemAddress(range));
}

TEST("copies and operators run across the mappings of several handles") {
  Range range(4 * kPage);
  Physical first, second;
  OK(aclrtMapMem(range.at(1), kPage, 0, first, 0));
  char* across = range.at(2) - 64;
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 1.0f);
  FAILS(aclrtMemcpy(across, 128, values.data(), 128, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "live device");
  OK(aclrtMapMem(range.at(2), kPage, 0, second, 0));  // and now it reaches further
  OK(aclrtMemcpy(across, 128, values.data(), 128, ACL_MEMCPY_HOST_TO_DEVICE));
  View tensor(across, {32});
  Number one(1.0);
  LAUNCH(aclnnInplaceAdds, tensor, one, one);
  OK(aclrtSynchronizeStream(nullptr));
  float back[32] = {};
  OK(aclrtMemcpy(back, 128, across, 128, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < 32; ++i) CHECK_EQUAL(back[i], float(i + 2));
  void* begin = nullptr;
  size_t bytes = 0;
  OK(aclrtMemGetAddressRange(across, &begin, &bytes));
  CHECK_EQUAL(begin, static_cast<void*>(range.at(1)));
  CHECK_EQUAL(bytes, 2 * kPage);
}

TEST("the same memory mapped twice has the same bytes") {
  Range range(4 * kPage);
  Physical memory;
  OK(aclrtMapMem(range.at(0), kPage, 0, memory, 0));
  OK(aclrtMapMem(range.at(2), kPage, 0, memory, 0));
  write_text(range.at(0) + 100, "shared");
  CHECK_EQUAL(text_at(range.at(2) + 100, 6), std::string("shared"));
}

TEST("freed physical memory stays until it is unmapped") {
  const uint64_t before = softnpu_live_bytes(0);
  Range range(2 * kPage);
  Physical memory;
  OK(aclrtMapMem(range.at(0), kPage, 0, memory, 0));
  OK(aclrtFreePhysical(memory));
  FAILS(aclrtFreePhysical(memory), 107000, "was freed");
  FAILS(aclrtMapMem(range.at(1), kPage, 0, memory, 0), 107000, "was freed");
  memory.handle = nullptr;
  write_text(range.at(0), "alive");
  CHECK_EQUAL(text_at(range.at(0), 5), std::string("alive"));
  aclrtDrvMemHandle again = nullptr;
  OK(aclrtMemRetainAllocationHandle(range.at(0), &again));
  OK(aclrtUnmapMem(range.at(0)));
  CHECK_EQUAL(softnpu_live_bytes(0), before + kPage);
  aclrtPhysicalMemProp prop = {};
  OK(aclrtMemGetAllocationPropertiesFromHandle(again, &prop));
  CHECK_EQUAL(int(prop.memAttr), int(ACL_HBM_MEM_HUGE));
  OK(aclrtFreePhysical(again));
  CHECK_EQUAL(softnpu_live_bytes(0), before);
}

TEST("physical memory counts towards the limit of the device, in whole pages") {
  const uint64_t before = softnpu_live_bytes(0);
  aclrtPhysicalMemProp prop = huge_pages();
  size_t granularity = 0;
  OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  CHECK_EQUAL(granularity, kPage);
  Physical small(100);
  CHECK_EQUAL(softnpu_live_bytes(0), before + kPage);
  aclrtDrvMemHandle large = nullptr;
  FAILS(aclrtMallocPhysical(&large, size_t(63) << 20, &prop, 0), 207001, "asked for 66060288 bytes");
  FAILS(aclrtMallocPhysical(&large, SIZE_MAX, &prop, 0), 207001, "out of memory");
  FAILS(aclrtMallocPhysical(&large, 0, &prop, 0), 107000, "at least 1");
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  FAILS(aclrtMallocPhysical(&large, kPage, &prop, 0), 207000, "devices (1) only");
  prop = huge_pages(7);
  FAILS(aclrtMallocPhysical(&large, kPage, &prop, 0), 107001, "there are 2");
}

TEST("mapping is refused outside a range, over another mapping, and in parts") {
  Range range(4 * kPage);
  Physical memory, other;
  FAILS(aclrtMapMem(range.at(4), kPage, 0, memory, 0), 107000, "reserved range");
  FAILS(aclrtMapMem(range.at(0), kPage / 2, 0, memory, 0), 107000, "all of it");
  FAILS(aclrtMapMem(range.at(0), kPage, 4096, memory, 0), 107000, "wanted 0");
  FAILS(aclrtMapMem(range.at(0) + 1, kPage, 0, memory, 0), 107000, "start of a page");
  OK(aclrtMapMem(range.at(1), kPage, 0, memory, 0));
  FAILS(aclrtMapMem(range.at(1), kPage, 0, other, 0), 107000, "mapped already");
  FAILS(aclrtMapMem(range.at(0) + kPage / 2, kPage, 0, other, 0), 107000, "mapped already");
  FAILS(aclrtUnmapMem(range.at(0)), 107000, "aclrtMapMem");
  FAILS(aclrtReleaseMemAddress(range.begin), 107000, "unmap it first");
  FAILS(aclrtReleaseMemAddress(range.at(1)), 107000, "start of a reserved range");
  FAILS(aclrtFree(range.at(1)), 107000, "live device allocation");
  int local = 0;
  FAILS(aclrtUnmapMem(&local), 107000, "aclrtReserveMemAddress");
  void* reserved = nullptr;
  FAILS(aclrtReserveMemAddress(&reserved, 0, 0, nullptr, 0), 107000, "at least 1");
  FAILS(aclrtReserveMemAddress(&reserved, kPage, 64, nullptr, 0), 107000, "alignment 0");
  FAILS(aclrtReserveMemAddress(&reserved, SIZE_MAX, 0, nullptr, 0), 207001, "addresses");
}

TEST("unmapping under a running stream harms nobody") {
  Range range(kPage);
  Physical memory;
  OK(aclrtMapMem(range.at(0), kPage, 0, memory, 0));
  softnpu_gate(nullptr, 1);
  OK(aclrtMemsetAsync(range.at(0), kPage, 1, kPage, nullptr));
  OK(aclrtUnmapMem(range.at(0)));
  softnpu_gate(nullptr, 0);
  OK(aclrtSynchronizeStream(nullptr));
}

TEST("resetting a device ends its mappings, ranges and handles") {
  OK(aclrtSetDevice(1));
  void* range = nullptr;
  OK(aclrtReserveMemAddress(&range, kPage, 0, nullptr, 0));
  const aclrtPhysicalMemProp prop = huge_pages(1);
  aclrtDrvMemHandle memory = nullptr;
  OK(aclrtMallocPhysical(&memory, kPage, &prop, 0));
  OK(aclrtMapMem(range, kPage, 0, memory, 0));
  OK(aclrtResetDevice(1));
  CHECK_EQUAL(softnpu_live_bytes(1), 0u);
  FAILS(aclrtFreePhysical(memory), 107000, "was freed");
  FAILS(aclrtUnmapMem(range), 107000, "aclrtMapMem");
  FAILS(aclrtReleaseMemAddress(range), 107000, "start of a reserved range");
}

CHILD_PROGRAM(import_memory) {
  const uint64_t name = std::stoull(child_hears());
  aclrtDrvMemHandle memory = nullptr;
  FAILS(aclrtMemImportFromShareableHandle(name, 0, &memory), 207006, "not admitted");
  int32_t pid = 0;
  OK(aclrtDeviceGetBareTgid(&pid));
  child_says(std::to_string(pid));
  child_hears();
  OK(aclrtMemImportFromShareableHandle(name, 0, &memory));
  Range range(2 * kPage);
  OK(aclrtMapMem(range.at(1), kPage, 0, memory, 0));
  child_says(text_at(range.at(1) + 10, 11));
  write_text(range.at(1) + 10, "from child ");
  child_says("written");
  child_hears();  // the parent has freed its side by now
  child_says(text_at(range.at(1) + 10, 11));
  OK(aclrtUnmapMem(range.at(1)));
  OK(aclrtFreePhysical(memory));
  FAILS(aclrtMemImportFromShareableHandle(name, 0, &memory), 107000, "any more");
  child_says("freed");
}

TEST("physical memory can be shared with an admitted process, and stays while it is borrowed") {
  const uint64_t before = softnpu_live_bytes(0);
  Range range(kPage);
  Physical memory;
  OK(aclrtMapMem(range.at(0), kPage, 0, memory, 0));
  write_text(range.at(0) + 10, "from parent");
  uint64_t name = 0;
  OK(aclrtMemExportToShareableHandle(memory, ACL_MEM_HANDLE_TYPE_NONE, 0, &name));
  FAILS(aclrtMemExportToShareableHandle(memory, ACL_MEM_HANDLE_TYPE_NONE, 0, &name), 107000, "already");
  ChildProcess child("import_memory");
  child.say(std::to_string(name));
  int32_t pid = std::stoi(child.hear());
  CHECK_EQUAL(pid, child.pid());
  OK(aclrtMemSetPidToShareableHandle(name, &pid, 1));
  child.say("admitted");
  CHECK_EQUAL(child.hear(), std::string("from parent"));
  CHECK_EQUAL(child.hear(), std::string("written"));
  CHECK_EQUAL(text_at(range.at(0) + 10, 11), std::string("from child "));
  OK(aclrtUnmapMem(range.at(0)));
  OK(aclrtFreePhysical(memory));
  memory.handle = nullptr;
  CHECK_EQUAL(softnpu_live_bytes(0), before + kPage);  // borrowed
  child.say("go on");
  CHECK_EQUAL(child.hear(), std::string("from child "));
  CHECK_EQUAL(child.hear(), std::string("freed"));
  CHECK_EQUAL(child.join(), 0);
  { Physical next; }  // the next allocation collects what came back
  CHECK_EQUAL(softnpu_live_bytes(0), before);
}

TEST("a made-up shareable handle is refused") {
  aclrtDrvMemHandle memory = nullptr;
  FAILS(aclrtMemImportFromShareableHandle(12345678901234567ULL, 0, &memory), 107000, "process");
  int32_t pid = 1;
  FAILS(aclrtMemSetPidToShareableHandle(42, &pid, 1), 107000, "not exported by this process");
}

TEST("device binaries are refused with a message") {
  aclrtBinHandle binary = nullptr;
  FAILS(aclrtBinaryLoadFromData("ELF", 3, nullptr, &binary), 207000, "compiled for an Ascend card");
}
