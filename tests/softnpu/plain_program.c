/* A program as a user of the card would write it, in C and with declarations of its own: nothing of the project's headers
 * is included. It adds two vectors on the device, in a stream of its own, twice: launched and replayed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclOpExecutor aclOpExecutor;

extern int aclInit(const char* config_path);
extern int aclFinalize(void);
extern const char* aclGetRecentErrMsg(void);
extern const char* aclrtGetSocName(void);
extern int aclrtGetDeviceCount(uint32_t* count);
extern int aclrtSetDevice(int32_t device);
extern int aclrtResetDevice(int32_t device);
extern int aclrtCreateStream(void** stream);
extern int aclrtDestroyStream(void* stream);
extern int aclrtSynchronizeStream(void* stream);
extern int aclrtMalloc(void** address, size_t size, int policy);
extern int aclrtFree(void* address);
extern int aclrtMallocHost(void** address, size_t size);
extern int aclrtFreeHost(void* address);
extern int aclrtMemcpyAsync(void* to, size_t capacity, const void* from, size_t count, int kind,
                            void* stream);
extern int aclmdlRICaptureBegin(void* stream, int mode);
extern int aclmdlRICaptureEnd(void* stream, void** model);
extern int aclmdlRIExecuteAsync(void* model, void* stream);
extern int aclmdlRIDestroy(void* model);
extern aclTensor* aclCreateTensor(const int64_t* sizes, uint64_t dims, int type, const int64_t* strides,
                                  int64_t offset, int format, const int64_t* storage_sizes,
                                  uint64_t storage_dims, void* data);
extern int aclDestroyTensor(const aclTensor* tensor);
extern aclScalar* aclCreateScalar(void* value, int type);
extern int aclDestroyScalar(const aclScalar* scalar);
extern int aclnnAddGetWorkspaceSize(const aclTensor* a, const aclTensor* b, const aclScalar* alpha,
                                    aclTensor* out, uint64_t* workspace, aclOpExecutor** executor);
extern int aclnnAdd(void* workspace, uint64_t workspace_size, aclOpExecutor* executor, void* stream);

enum { kFloat = 0, kFormatND = 2, kHostToDevice = 1, kDeviceToHost = 2, kCount = 1000 };

static void check(int code, const char* what) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  fprintf(stderr, "%s failed with %d: %s\n", what, code, message == NULL ? "(no message)" : message);
  exit(1);
}
#define CHECK(call) check(call, #call)

static aclTensor* vector_of(void* data) {
  const int64_t size = kCount;
  aclTensor* tensor = aclCreateTensor(&size, 1, kFloat, NULL, 0, kFormatND, &size, 1, data);
  check(tensor == NULL, "aclCreateTensor");
  return tensor;
}

static void add(void* a, void* b, void* out, void* stream) {
  float one = 1;
  uint64_t size = 0;
  aclOpExecutor* executor = NULL;
  aclTensor *left = vector_of(a), *right = vector_of(b), *sum = vector_of(out);
  aclScalar* alpha = aclCreateScalar(&one, kFloat);
  void* workspace = NULL;
  CHECK(aclnnAddGetWorkspaceSize(left, right, alpha, sum, &size, &executor));
  if (size != 0) CHECK(aclrtMalloc(&workspace, size, 0));
  CHECK(aclnnAdd(workspace, size, executor, stream));
  CHECK(aclDestroyTensor(left));
  CHECK(aclDestroyTensor(right));
  CHECK(aclDestroyTensor(sum));
  CHECK(aclDestroyScalar(alpha));
  if (workspace != NULL) {
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtFree(workspace));
  }
}

int main(void) {
  uint32_t devices = 0;
  void *stream = NULL, *a = NULL, *b = NULL, *host = NULL, *model = NULL;
  const size_t bytes = kCount * sizeof(float);
  CHECK(aclInit(NULL));
  CHECK(aclrtGetDeviceCount(&devices));
  CHECK(aclrtSetDevice(0));
  printf("%s, %u device(s)\n", aclrtGetSocName(), devices);
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtMallocHost(&host, bytes));
  CHECK(aclrtMalloc(&a, bytes, 0));
  CHECK(aclrtMalloc(&b, bytes, 0));

  float* values = host;
  for (int i = 0; i < kCount; ++i) values[i] = (float)i;
  CHECK(aclrtMemcpyAsync(a, bytes, values, bytes, kHostToDevice, stream));
  CHECK(aclrtMemcpyAsync(b, bytes, values, bytes, kHostToDevice, stream));
  add(a, b, b, stream); /* b = 2i */
  CHECK(aclmdlRICaptureBegin(stream, 0));
  add(a, b, b, stream);
  CHECK(aclmdlRICaptureEnd(stream, &model));
  CHECK(aclmdlRIExecuteAsync(model, stream)); /* b = 3i */
  CHECK(aclmdlRIExecuteAsync(model, stream)); /* b = 4i */
  CHECK(aclrtMemcpyAsync(values, bytes, b, bytes, kDeviceToHost, stream));
  CHECK(aclrtSynchronizeStream(stream));
  for (int i = 0; i < kCount; ++i) {
    if (values[i] == (float)(4 * i)) continue;
    fprintf(stderr, "element %d is %g, wanted %g\n", i, values[i], (double)(4 * i));
    return 1;
  }

  CHECK(aclmdlRIDestroy(model));
  CHECK(aclrtFree(a));
  CHECK(aclrtFree(b));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf("ok\n");
  return 0;
}
