/* The few functions of AscendCL and ACLNN that the programs here use, as CANN's headers declare them. */
#ifndef ACL_SUBSET_H
#define ACL_SUBSET_H

#include <stddef.h>
#include <stdint.h>

enum { ACL_FLOAT = 0, ACL_FORMAT_ND = 2 };
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };

int aclInit(const char* config_path);
int aclrtSetDevice(int32_t device);
int aclrtSynchronizeDevice(void);
int aclrtMalloc(void** address, size_t size, int policy);
int aclrtFree(void* address);
int aclrtMallocHost(void** address, size_t size);
int aclrtFreeHost(void* address);
int aclrtMemcpy(void* to, size_t most, const void* from, size_t count, int kind);
int aclrtMemcpyAsync(void* to, size_t most, const void* from, size_t count, int kind, void* stream);
int aclrtMemset(void* address, size_t most, int32_t value, size_t count);
int aclrtMemsetAsync(void* address, size_t most, int32_t value, size_t count, void* stream);
int aclrtCreateStream(void** stream);
int aclrtDestroyStream(void* stream);
int aclrtSynchronizeStream(void* stream);
int aclrtCreateEvent(void** event);
int aclrtDestroyEvent(void* event);
int aclrtRecordEvent(void* event, void* stream);
int aclrtStreamWaitEvent(void* stream, void* event);
int aclrtSynchronizeEvent(void* event);
int aclrtQueryEventStatus(void* event, int* status);
const char* aclGetRecentErrMsg(void);

void* aclCreateTensor(const int64_t* sizes, uint64_t dims, int type, const int64_t* strides, int64_t offset,
                      int format, const int64_t* storage_sizes, uint64_t storage_dims, void* data);
int aclDestroyTensor(const void* tensor);
void* aclCreateScalar(void* value, int type);
int aclDestroyScalar(const void* scalar);
int aclnnAddGetWorkspaceSize(const void* self, const void* other, const void* alpha, void* out,
                             uint64_t* workspace, void** executor);
int aclnnAdd(void* workspace, uint64_t size, void* executor, void* stream);
int aclnnMulGetWorkspaceSize(const void* self, const void* other, void* out, uint64_t* workspace,
                             void** executor);
int aclnnMul(void* workspace, uint64_t size, void* executor, void* stream);

#endif
