/* A missing event that goes well almost every time: the first stream has a head start. Prints what the second stream
 * saw: 0 (too early) or 1. */
#include "program.h"

int main(void) {
  float seen = -1;
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  void *first = new_stream(), *second = new_stream(), *x = ones(), *y = ones(), *z = ones();
  OK(aclrtMemset(y, BYTES, 0, BYTES));
  OK(multiply(x, x, y, first));
  OK(multiply(x, y, z, second)); /* should wait for an event of `first` */
  OK(aclrtSynchronizeStream(second));
  OK(aclrtSynchronizeStream(first));
  OK(aclrtMemcpy(&seen, sizeof seen, z, sizeof seen, DEVICE_TO_HOST));
  printf("%g\n", seen);
  return 0;
}
