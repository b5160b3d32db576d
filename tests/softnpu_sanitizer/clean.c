/* Programs without a defect that come close to one: the sanitizer must say nothing, and whatever the scheduling
 * seed, the results must be right. */
#include "program.h"

static void expect(void* x, float wanted) {
  float values[COUNT];
  OK(aclrtMemcpy(values, BYTES, x, BYTES, DEVICE_TO_HOST));
  for (int i = 0; i < COUNT; ++i) {
    if (values[i] == wanted) continue;
    fprintf(stderr, "element %d is %g, wanted %g\n", i, values[i], wanted);
    exit(4);
  }
}

/* One stream makes, the other uses; events in both directions, round after round. */
static void two_streams_with_events(void) {
  void *makes = new_stream(), *uses = new_stream(), *made = new_event(), *used = new_event();
  void *x = ones(), *y = ones(), *sum = ones();
  for (int round = 0; round < 20; ++round) {
    OK(aclrtStreamWaitEvent(makes, used));
    OK(multiply(x, x, y, makes));
    OK(aclrtRecordEvent(made, makes));
    OK(aclrtStreamWaitEvent(uses, made));
    OK(add(sum, y, sum, uses));
    OK(aclrtRecordEvent(used, uses));
  }
  OK(aclrtSynchronizeEvent(used));
  expect(sum, 21);
  OK(aclrtFree(x));
  OK(aclrtFree(y));
  OK(aclrtDestroyEvent(made));
  OK(aclrtDestroyEvent(used));
}

/* Even elements by one stream, odd ones by the other: the spans overlap, the bytes do not. */
static void interleaved_views(void) {
  void *even = new_stream(), *odd = new_stream();
  void* x = ones();
  for (int64_t first = 0; first < 2; ++first) {
    void* stream = first == 0 ? even : odd;
    OK(add_views(view(x, COUNT / 2, 2, first), view(x, COUNT / 2, 2, first), view(x, COUNT / 2, 2, first),
                 stream));
  }
  OK(aclrtSynchronizeStream(even));
  OK(aclrtSynchronizeStream(odd));
  expect(x, 2);
}

/* Reading together is no race. */
static void two_readers(void) {
  void *first = new_stream(), *second = new_stream();
  void *x = ones(), *y = device_memory(BYTES), *z = device_memory(BYTES);
  OK(add(x, x, y, first));
  OK(add(x, x, z, second));
  OK(aclrtSynchronizeDevice());
  expect(y, 2);
  expect(z, 2);
}

/* A program may ask until an event is there instead of waiting for it. */
static void asking_for_an_event(void) {
  void *first = new_stream(), *second = new_stream(), *event = new_event();
  void *x = ones(), *y = ones();
  int done = 0;
  OK(add(x, x, y, first));
  OK(aclrtRecordEvent(event, first));
  while (done == 0) OK(aclrtQueryEventStatus(event, &done));
  OK(add(y, x, y, second));
  OK(aclrtSynchronizeStream(second));
  expect(y, 3);
}

/* Streams come and go; what a destroyed one has done comes before everything after. */
static void streams_one_after_the_other(void) {
  void *x = ones(), *y = ones();
  for (int round = 0; round < 50; ++round) {
    void* stream = new_stream();
    OK(add(y, x, y, stream));
    OK(aclrtDestroyStream(stream));
  }
  expect(y, 51);
}

static void memory_used_again(void) {
  for (int round = 0; round < 50; ++round) {
    void *x = ones(), *y = device_memory(BYTES);
    OK(aclrtMemsetAsync(y, BYTES, 0, BYTES, NULL));
    OK(add(x, y, y, NULL));
    OK(aclrtSynchronizeStream(NULL));
    expect(y, 1);
    OK(aclrtFree(x));
    OK(aclrtFree(y));
  }
}

#define EXAMPLE(name) {#name, name}
static const struct Example examples[] = {
    EXAMPLE(two_streams_with_events), EXAMPLE(interleaved_views),           EXAMPLE(two_readers),
    EXAMPLE(asking_for_an_event),     EXAMPLE(streams_one_after_the_other), EXAMPLE(memory_used_again),
};

int main(int argc, char** argv) {
  return run_example(examples, (int)(sizeof examples / sizeof examples[0]), argc, argv);
}
