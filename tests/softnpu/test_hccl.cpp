// HCCL between two devices of one process; tests/softnpu_hccl has the rest, between processes.
#include "check.h"
#include "hccl_abi.h"

namespace {

// Two ranks with a stream and a buffer each.
struct Pair {
  Pair() {
    int32_t devices[2] = {0, 1};
    OK(HcclCommInitAll(2, devices, comms));
    for (int rank = 0; rank < 2; ++rank) {
      OK(aclrtSetDevice(rank));
      OK(aclrtGetCurrentContext(&contexts[rank]));
      OK(aclrtCreateStream(&streams[rank]));
      OK(aclrtMalloc(&buffers[rank], kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
      std::vector<float> values(kCount, float(rank + 1));
      OK(aclrtMemcpy(buffers[rank], kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
  }
  ~Pair() {
    for (int rank = 0; rank < 2; ++rank) {
      use(rank);
      aclrtSynchronizeStream(streams[rank]);
      aclrtDestroyStream(streams[rank]);
      aclrtFree(buffers[rank]);
      if (comms[rank] != nullptr) HcclCommDestroy(comms[rank]);
    }
    for (int rank = 0; rank < 2; ++rank) aclrtResetDevice(rank);  // settings of a device are counted
    use(0);
  }

  void use(int rank) { aclrtSetCurrentContext(contexts[rank]); }
  int synchronize(int rank) {
    use(rank);
    return aclrtSynchronizeStream(streams[rank]);
  }
  std::vector<float> read(int rank) {
    OK(synchronize(rank));
    std::vector<float> values(kCount);
    OK(aclrtMemcpy(values.data(), kBytes, buffers[rank], kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }
  void all_reduce(int rank) {
    use(rank);
    OK(HcclAllReduce(buffers[rank], buffers[rank], kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comms[rank],
                     streams[rank]));
  }

  static constexpr size_t kCount = 300'000, kBytes = kCount * sizeof(float);  // two rounds
  aclrtContext contexts[2] = {};
  HcclComm comms[2] = {};
  aclrtStream streams[2] = {};
  void* buffers[2] = {};
};

}  // namespace

TEST("two devices of a process reduce together, without blocking the caller") {
  Pair pair;
  for (int repeat = 0; repeat < 5; ++repeat)
    for (int rank = 0; rank < 2; ++rank) pair.all_reduce(rank);
  for (int rank = 0; rank < 2; ++rank) CHECK(pair.read(rank) == std::vector<float>(Pair::kCount, 48.0f));
}

TEST("a device sends what another receives") {
  Pair pair;
  pair.use(0);
  OK(HcclSend(pair.buffers[0], Pair::kCount, HCCL_DATA_TYPE_FP32, 1, pair.comms[0], pair.streams[0]));
  pair.use(1);
  OK(HcclRecv(pair.buffers[1], Pair::kCount, HCCL_DATA_TYPE_FP32, 0, pair.comms[1], pair.streams[1]));
  CHECK(pair.read(1) == std::vector<float>(Pair::kCount, 1.0f));
}

TEST("a stream that is destroyed by force takes its communicator along") {
  Pair pair;
  pair.all_reduce(0);
  pair.use(0);
  OK(aclrtDestroyStreamForce(pair.streams[0]));
  OK(aclrtCreateStream(&pair.streams[0]));
  HcclResult error = HCCL_SUCCESS;
  OK(HcclGetCommAsyncError(pair.comms[1], &error));
  CHECK_EQUAL(int(error), int(HCCL_E_REMOTE));
  FAILS(HcclAllReduce(pair.buffers[0], pair.buffers[0], 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                      pair.comms[0], pair.streams[0]),
        HCCL_E_SUSPENDING, "the communicator cannot be used any more");
}

TEST("a stream of another device than the communicator's is refused") {
  Pair pair;
  pair.use(1);
  FAILS(HcclAllReduce(pair.buffers[1], pair.buffers[1], 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                      pair.comms[0], pair.streams[1]),
        HCCL_E_PARA, "the stream is on device 1, the communicator on device 0");
  FAILS(HcclAllReduce(pair.buffers[0], pair.buffers[1], 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                      pair.comms[1], pair.streams[1]),
        HCCL_E_PARA, "sendBuf is on device 0, the communicator on device 1");
}

TEST("a communicator of no device, of one twice, or of one that does not exist is refused") {
  HcclComm comms[2] = {};
  int32_t twice[2] = {1, 1}, missing[2] = {0, 2};
  FAILS(HcclCommInitAll(0, twice, comms), HCCL_E_PARA, "ndev is 0");
  FAILS(HcclCommInitAll(2, twice, comms), HCCL_E_PARA, "devices names a device twice");
  FAILS(HcclCommInitAll(2, missing, comms), HCCL_E_PARA, "device 2 does not exist; there are 2");
  FAILS(HcclCommInitAll(2, nullptr, comms), HCCL_E_PTR, "devices is NULL");
  FAILS(HcclCommDestroy(comms), HCCL_E_PARA, "is not one, or was destroyed");
  FAILS(HcclGroupEnd(), HCCL_E_PARA, "there was no HcclGroupStart");
}
