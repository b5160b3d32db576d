/* What the programs here share: checked calls, and operators over rows of floats. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_subset.h"

enum { COUNT = 16, BYTES = COUNT * 4 };

static inline void check(int code, const char* call) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  fprintf(stderr, "%s returned %d: %s\n", call, code, message == NULL ? "" : message);
  exit(1);
}
#define OK(call) check(call, #call)

static inline void* device_memory(size_t bytes) {
  void* address = NULL;
  OK(aclrtMalloc(&address, bytes, 0));
  return address;
}

/* Device memory that holds COUNT ones. */
static inline void* ones(void) {
  float values[COUNT];
  void* address = device_memory(BYTES);
  for (int i = 0; i < COUNT; ++i) values[i] = 1;
  OK(aclrtMemcpy(address, BYTES, values, BYTES, HOST_TO_DEVICE));
  return address;
}

static inline void* new_stream(void) {
  void* stream = NULL;
  OK(aclrtCreateStream(&stream));
  return stream;
}

static inline void* new_event(void) {
  void* event = NULL;
  OK(aclrtCreateEvent(&event));
  return event;
}

/* `count` floats, `step` apart, from the `first` on. */
static inline void* view(void* data, int64_t count, int64_t step, int64_t first) {
  const int64_t storage = first + (count - 1) * step + 1;
  void* tensor = aclCreateTensor(&count, 1, ACL_FLOAT, &step, first, ACL_FORMAT_ND, &storage, 1, data);
  if (tensor == NULL) check(-1, "aclCreateTensor");
  return tensor;
}

/* out = a + b, of views that are destroyed here. Returns the code of the call that failed, or 0. */
static inline int add_views(void* a, void* b, void* out, void* stream) {
  float one = 1;
  void *alpha = aclCreateScalar(&one, ACL_FLOAT), *executor = NULL;
  uint64_t size = 0;
  int code = aclnnAddGetWorkspaceSize(a, b, alpha, out, &size, &executor);
  if (code == 0) code = aclnnAdd(NULL, size, executor, stream);
  aclDestroyTensor(a), aclDestroyTensor(b), aclDestroyTensor(out);
  aclDestroyScalar(alpha);
  return code;
}

static inline int add(void* a, void* b, void* out, void* stream) {
  return add_views(view(a, COUNT, 1, 0), view(b, COUNT, 1, 0), view(out, COUNT, 1, 0), stream);
}

static inline int multiply(void* a, void* b, void* out, void* stream) {
  void *left = view(a, COUNT, 1, 0), *right = view(b, COUNT, 1, 0), *result = view(out, COUNT, 1, 0);
  void* executor = NULL;
  uint64_t size = 0;
  int code = aclnnMulGetWorkspaceSize(left, right, result, &size, &executor);
  if (code == 0) code = aclnnMul(NULL, size, executor, stream);
  aclDestroyTensor(left), aclDestroyTensor(right), aclDestroyTensor(result);
  return code;
}

struct Example {
  const char* name;
  void (*run)(void);
};

/* Runs the example that argv[1] names. */
static inline int run_example(const struct Example* examples, int count, int argc, char** argv) {
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  for (int i = 0; argc == 2 && i < count; ++i) {
    if (strcmp(argv[1], examples[i].name) != 0) continue;
    examples[i].run();
    fprintf(stderr, "%s is done\n", argv[1]);
    return 0;
  }
  fprintf(stderr, "usage: %s name; names:\n", argv[0]);
  for (int i = 0; i < count; ++i) fprintf(stderr, "  %s\n", examples[i].name);
  return 2;
}

#endif
