// Work on a device that can fail while the device itself goes on, such as a collective whose other end is gone. The
// vendor's runtime reports that on the work's own stream at most, but others have waited for the work by events and would
// read what it left. So whenever the host has waited for a device, those who know of such work are asked.
#pragma once

#include <functional>

namespace mt::devices {

class FailureWatch {
 public:
  // `check(false)` throws when work has failed on the device, once for each failure; `check(true)` is called when an
  // error of the device was raised, which may have told of it. By any thread.
  FailureWatch(int device, std::function<void(bool told)> check);
  ~FailureWatch();
  FailureWatch(const FailureWatch&) = delete;

 private:
  friend void check_failures(int device, bool told);
  const int device_;
  const std::function<void(bool)> check_;
};

// After every wait of the host; one load while nobody watches.
void check_failures(int device, bool told = false);

// A wait of the host for work of the device.
template <class Wait>
void wait_and_check(int device, const Wait& wait) {
  try {
    wait();
  } catch (...) {
    check_failures(device, true);
    throw;
  }
  check_failures(device);
}

}  // namespace mt::devices
