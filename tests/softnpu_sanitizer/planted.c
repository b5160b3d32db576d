/* One defect per function, for the sanitizer to find. None of them shows in the results by itself for sure: that is
 * what makes such defects hard. Memory and handles are left to the end of the process. */
#include "program.h"

static void use_after_free_copy(void) {
  float values[COUNT];
  void* x = ones();
  OK(aclrtFree(x));
  if (aclrtMemcpy(values, BYTES, x, BYTES, DEVICE_TO_HOST) == 0) exit(3);
}

static void use_after_free_operator(void) {
  void *x = ones(), *y = ones(), *z = ones();
  OK(aclrtFree(y));
  if (add(x, y, z, NULL) == 0) exit(3);
}

/* The addresses of y are asked for again at once; a card would hand the same ones out. */
static void use_after_free_with_new_memory(void) {
  void *x = ones(), *y = ones(), *z = ones();
  OK(aclrtFree(y));
  ones();
  if (add(x, y, z, NULL) == 0) exit(3);
}

static void free_without_waiting(void) {
  void *x = ones(), *y = ones();
  OK(add(x, x, y, NULL));
  OK(aclrtFree(x));
  OK(aclrtSynchronizeStream(NULL));
}

static void out_of_bounds_in_the_padding(void) {
  OK(aclrtMemset(device_memory(BYTES), BYTES + 8, 0, BYTES + 8));
}

static void out_of_bounds_operator(void) {
  void *x = ones(), *y = device_memory(BYTES - 4);
  OK(add(x, x, y, NULL));
  OK(aclrtSynchronizeStream(NULL));
}

static void uninitialised_operator(void) {
  void *x = ones(), *y = device_memory(BYTES), *z = device_memory(BYTES);
  OK(multiply(x, y, z, NULL));
  OK(aclrtSynchronizeStream(NULL));
}

static void uninitialised_copy(void) {
  float values[COUNT];
  void* x = device_memory(BYTES);
  OK(aclrtMemset(x, BYTES, 0, BYTES / 2));
  OK(aclrtMemcpy(values, BYTES, x, BYTES, DEVICE_TO_HOST));
}

/* A copy between devices hands the bytes on as they are; the operator then reads them. */
static void uninitialised_through_a_copy(void) {
  void *x = device_memory(BYTES), *y = device_memory(BYTES), *z = device_memory(BYTES);
  OK(aclrtMemcpy(y, BYTES, x, BYTES, DEVICE_TO_DEVICE));
  OK(add(y, y, z, NULL));
  OK(aclrtSynchronizeStream(NULL));
}

static void race_read_before_written(void) {
  void *first = new_stream(), *second = new_stream();
  void *x = ones(), *y = ones(), *z = ones();
  OK(multiply(x, x, y, first));
  OK(add(y, y, z, second));
  OK(aclrtSynchronizeDevice());
}

static void race_overwritten_before_read(void) {
  void *first = new_stream(), *second = new_stream();
  void *x = ones(), *y = ones();
  OK(add(x, x, y, first));
  OK(aclrtMemsetAsync(x, BYTES, 0, BYTES, second));
  OK(aclrtSynchronizeDevice());
}

/* There is an event, but it is recorded before the work that it should stand for. */
static void race_event_too_early(void) {
  void *first = new_stream(), *second = new_stream(), *event = new_event();
  void *x = ones(), *y = ones(), *z = ones();
  OK(aclrtRecordEvent(event, first));
  OK(multiply(x, x, y, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(add(y, y, z, second));
  OK(aclrtSynchronizeDevice());
}

static void race_host_copies_what_is_computed(void) {
  float values[COUNT];
  void *x = ones(), *y = ones();
  OK(add(x, x, y, NULL));
  OK(aclrtMemcpy(values, BYTES, y, BYTES, DEVICE_TO_HOST));
  OK(aclrtSynchronizeDevice());
}

static void race_upload_and_compute(void) {
  void *uploads = new_stream(), *computes = new_stream(), *host = NULL;
  void *x = ones(), *y = ones();
  OK(aclrtMallocHost(&host, BYTES));
  memset(host, 0, BYTES);
  OK(aclrtMemcpyAsync(x, BYTES, host, BYTES, HOST_TO_DEVICE, uploads));
  OK(add(x, x, y, computes));
  OK(aclrtSynchronizeDevice());
}

static void race_in_host_memory(void) {
  void *first = new_stream(), *second = new_stream(), *host = NULL;
  void *x = ones(), *y = ones();
  OK(aclrtMallocHost(&host, BYTES));
  OK(aclrtMemcpyAsync(host, BYTES, x, BYTES, DEVICE_TO_HOST, first));
  OK(aclrtMemcpyAsync(y, BYTES, host, BYTES, HOST_TO_DEVICE, second));
  OK(aclrtSynchronizeDevice());
}

#define EXAMPLE(name) {#name, name}
static const struct Example examples[] = {
    EXAMPLE(use_after_free_copy),
    EXAMPLE(use_after_free_operator),
    EXAMPLE(use_after_free_with_new_memory),
    EXAMPLE(free_without_waiting),
    EXAMPLE(out_of_bounds_in_the_padding),
    EXAMPLE(out_of_bounds_operator),
    EXAMPLE(uninitialised_operator),
    EXAMPLE(uninitialised_copy),
    EXAMPLE(uninitialised_through_a_copy),
    EXAMPLE(race_read_before_written),
    EXAMPLE(race_overwritten_before_read),
    EXAMPLE(race_event_too_early),
    EXAMPLE(race_host_copies_what_is_computed),
    EXAMPLE(race_upload_and_compute),
    EXAMPLE(race_in_host_memory),
};

int main(int argc, char** argv) {
  return run_example(examples, (int)(sizeof examples / sizeof examples[0]), argc, argv);
}
