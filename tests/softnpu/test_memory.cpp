#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "check.h"

TEST("a second aclInit reports that it was repeated") { FAILS(aclInit(nullptr), 100002, "again"); }

TEST("no device is current in a thread that set none") {
  std::thread([] {
    int32_t device = -1;
    void* address = nullptr;
    FAILS(aclrtGetDevice(&device), 107002, "aclrtSetDevice");
    FAILS(aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST), 107002, "aclrtSetDevice");
    OK(aclrtSetDevice(1));
    OK(aclrtGetDevice(&device));
    CHECK_EQUAL(device, 1);
    OK(aclrtResetDevice(1));
    FAILS(aclrtGetDevice(&device), 107002, "aclrtSetDevice");
  }).join();
}

TEST("a device that does not exist is refused") {
  FAILS(aclrtSetDevice(2), 107001, "there are 2");
  FAILS(aclrtSetDevice(-1), 107001, "device -1");
}

TEST("setting and resetting a device is counted") {
  OK(aclrtSetDevice(1));
  OK(aclrtSetDevice(1));
  OK(aclrtResetDevice(1));
  int32_t device = -1;
  OK(aclrtGetDevice(&device));
  CHECK_EQUAL(device, 1);
  void* leaked = nullptr;
  OK(aclrtMalloc(&leaked, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtResetDevice(1));
  CHECK_EQUAL(softnpu_live_bytes(1), 0u);
  FAILS(aclrtResetDevice(1), 107002, "not set");
}

TEST("bytes survive the way to the device and back") {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
  Floats buffer(values);
  CHECK(buffer.read() == values);
}

TEST("a host dereference of device memory faults") {
  void* address = nullptr;
  OK(aclrtMalloc(&address, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  const int status = run_in_child([&] {
    for (const int sig : {SIGSEGV, SIGBUS}) std::signal(sig, SIG_DFL);  // not a sanitizer's report
    *static_cast<volatile int*>(address) = 1;
  });
  OK(aclrtFree(address));
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST("out of memory has its own code and says how much was asked for") {
  void *half = nullptr, *rest = nullptr;
  const uint64_t before = softnpu_live_bytes(0);
  OK(aclrtMalloc(&half, 40 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  FAILS(aclrtMalloc(&rest, 40 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "asked for 41943040 bytes");
  FAILS(aclrtMallocAlign32(&rest, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "out of memory");
  size_t free_bytes = 0, total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  CHECK_EQUAL(total, size_t(64) << 20);
  CHECK(free_bytes <= (24 << 20));
  OK(aclrtFree(half));
  OK(aclrtMalloc(&rest, 40 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(rest));
  CHECK_EQUAL(softnpu_live_bytes(0), before);
}

TEST("freed blocks merge, so that all of the memory can be had again") {
  std::vector<void*> blocks(60);
  for (void*& block : blocks) OK(aclrtMallocAlign32(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  for (size_t i = 0; i < blocks.size(); i += 2) OK(aclrtFree(blocks[i]));
  for (size_t i = 1; i < blocks.size(); i += 2) OK(aclrtFree(blocks[i]));
  void* large = nullptr;
  OK(aclrtMallocAlign32(&large, 60 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(large));
}

TEST("freeing twice, or something else, is refused") {
  void* address = nullptr;
  OK(aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  FAILS(aclrtFree(static_cast<char*>(address) + 32), 107000, "not the start");
  OK(aclrtFree(address));
  FAILS(aclrtFree(address), 107000, "freed twice");
  int local = 0;
  FAILS(aclrtFree(&local), 107000, "not the start");
  FAILS(aclrtFreeHost(&local), 107000, "aclrtMallocHost");
}

TEST("copies are checked against live allocations and the copy kind") {
  Floats buffer(16);
  char host[128] = {};
  FAILS(aclrtMemcpy(buffer.data(), 256, host, 100, ACL_MEMCPY_HOST_TO_DEVICE), 107000,
        "live device allocation");
  FAILS(aclrtMemcpy(buffer.data(), 32, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 100000,
        "larger than the destination");
  FAILS(aclrtMemcpy(buffer.data(), 64, host, 64, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "dst");
  FAILS(aclrtMemcpy(host, 64, nullptr, 64, ACL_MEMCPY_DEVICE_TO_HOST), 100000, "src is NULL");
  OK(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_DEVICE_TO_HOST));
  void* freed = nullptr;
  OK(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(freed));
  FAILS(aclrtMemset(freed, 64, 0, 64), 107000, "freed");
}

TEST("a copy between devices needs peer access") {
  Floats here({1, 2, 3, 4});
  OK(aclrtSetDevice(1));
  void* there = nullptr;
  OK(aclrtMalloc(&there, 16, ACL_MEM_MALLOC_HUGE_FIRST));
  FAILS(aclrtMemcpy(there, 16, here.data(), 16, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000, "EnablePeerAccess");
  int32_t possible = 0;
  OK(aclrtDeviceCanAccessPeer(&possible, 1, 0));
  CHECK_EQUAL(possible, 1);
  OK(aclrtDeviceEnablePeerAccess(0, 0));
  OK(aclrtMemcpy(there, 16, here.data(), 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  float back[4] = {};
  OK(aclrtMemcpy(back, 16, there, 16, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQUAL(back[3], 4.0f);
  OK(aclrtFree(there));
  OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
}

TEST("pointer attributes tell device, pinned and other memory apart") {
  Floats buffer(4);
  aclrtPtrAttributes attributes;
  OK(aclrtPointerGetAttributes(buffer.data(), &attributes));
  CHECK_EQUAL(int(attributes.location.type), int(ACL_MEM_LOCATION_TYPE_DEVICE));
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 100));
  OK(aclrtPointerGetAttributes(pinned, &attributes));
  CHECK_EQUAL(int(attributes.location.type), int(ACL_MEM_LOCATION_TYPE_HOST));
  OK(aclrtFreeHost(pinned));
  int local = 0;
  OK(aclrtPointerGetAttributes(&local, &attributes));
  CHECK_EQUAL(int(attributes.location.type), int(ACL_MEM_LOCATION_TYPE_UNREGISTERED));
}

TEST("poison makes fresh and freed memory recognisable") {
  softnpu_set_poison(1);
  void* address = nullptr;
  OK(aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  unsigned char bytes[64];
  OK(aclrtMemcpy(bytes, 64, address, 64, ACL_MEMCPY_DEVICE_TO_HOST));
  softnpu_set_poison(0);
  OK(aclrtFree(address));
  CHECK_EQUAL(int(bytes[0]), 0xFF);
  CHECK_EQUAL(int(bytes[63]), 0xFF);
}

TEST("a batch of copies goes in all directions and tells which one failed") {
  Floats device({1, 2}), other(2);
  float host[2] = {5, 6}, back[2] = {};
  void* to[3] = {device.data(), other.data(), back};
  void* from[3] = {host, device.data(), other.data()};
  size_t sizes[3] = {8, 8, 8}, first = 0, failed = 0;
  aclrtMemcpyBatchAttr attribute = {};
  OK(aclrtMemcpyBatch(to, sizes, from, sizes, 3, &attribute, &first, 1, &failed));
  CHECK_EQUAL(failed, SIZE_MAX);
  CHECK_EQUAL(back[1], 6.0f);
  size_t small[3] = {8, 4, 8};
  FAILS(aclrtMemcpyBatchAsync(to, small, from, sizes, 3, &attribute, &first, 1, &failed, nullptr), 100000,
        "larger than the destination");
  CHECK_EQUAL(failed, 1u);
  first = 3;
  FAILS(aclrtMemcpyBatch(to, sizes, from, sizes, 3, &attribute, &first, 1, &failed), 107000, "less than 3");
  FAILS(aclrtMemcpyBatch(to, sizes, from, sizes, 0, &attribute, &first, 1, &failed), 107000, "at least 1");
}

TEST("host memory is pinned by configuration and by registration") {
  aclrtMallocAttribute attribute = {ACL_RT_MEM_ATTR_MODULE_ID, {}};
  aclrtMallocConfig config = {&attribute, 1};
  void* pinned = nullptr;
  OK(aclrtMallocHostWithCfg(&pinned, 64, &config));
  aclrtPtrAttributes attributes;
  OK(aclrtPointerGetAttributes(pinned, &attributes));
  CHECK_EQUAL(int(attributes.location.type), int(ACL_MEM_LOCATION_TYPE_HOST));
  OK(aclrtFreeHost(pinned));
  attribute.attr = aclrtMallocAttrType(9);
  FAILS(aclrtMallocHostWithCfg(&pinned, 64, &config), 107000, "type 9");
  std::vector<char> own(4096);
  OK(aclrtHostRegisterV2(own.data(), own.size(), ACL_HOST_REG_PINNED));
  FAILS(aclrtHostRegisterV2(own.data(), own.size(), ACL_HOST_REG_PINNED), 507910, "already");
  FAILS(aclrtHostRegisterV2(own.data(), own.size(), 1), 107000, "ACL_HOST_REG_");
  OK(aclrtHostUnregister(own.data()));
  FAILS(aclrtHostUnregister(own.data()), 507911, "not registered");
}

TEST("usage of memory has a peak") {
  aclrtMemUsageInfo usage = {};
  size_t count = 0;
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 8 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtGetMemUsageInfo(0, &usage, 1, &count));
  CHECK_EQUAL(count, 1u);
  CHECK_EQUAL(usage.curMemSize, softnpu_live_bytes(0));
  OK(aclrtFree(memory));
  const uint64_t before = usage.curMemSize;
  OK(aclrtGetMemUsageInfo(0, &usage, 1, &count));
  CHECK(usage.memPeakSize >= before && usage.curMemSize < before);
}
