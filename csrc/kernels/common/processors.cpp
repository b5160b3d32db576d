#include "kernels/common/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace mt::kernels {
namespace {

// A container with the time of one and a half processors gets two threads: more would wait for the next period.
int processors_of(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, int(std::ceil(quota / period)))
                                 : std::numeric_limits<int>::max();
}

// What one folder of a control group grants: version 2 has both numbers in one file, "max" for none.
int granted_by(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream both(folder + "/cpu.max");
  if (both >> quota >> period) return processors_of(quota, period);
  std::ifstream first(folder + "/cpu.cfs_quota_us"), second(folder + "/cpu.cfs_period_us");
  if (first >> quota && second >> period) return processors_of(quota, period);
  return std::numeric_limits<int>::max();
}

// The group and all that it lies in. A container sees its own group as the root, whatever its path says.
int granted_along(const std::string& mount, std::string path) {
  int least = granted_by(mount);
  while (path.size() > 1 && path[0] == '/') {
    least = std::min(least, granted_by(mount + path));
    path.resize(std::max<size_t>(path.rfind('/'), 1));
  }
  return least;
}

bool names_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return true;
  return false;
}

// Lines of /proc/self/cgroup: number, controllers (none in version 2), path.
int granted(const std::string& root) {
  int least = std::numeric_limits<int>::max();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string number, controllers, path; std::getline(groups, number, ':') &&
                                              std::getline(groups, controllers, ':') &&
                                              std::getline(groups, path);) {
    if (controllers.empty()) least = std::min(least, granted_along(root + "/sys/fs/cgroup", path));
    else if (names_cpu(controllers))
      least = std::min(least, granted_along(root + "/sys/fs/cgroup/cpu", path));
  }
  return least;
}

}  // namespace

int usable_processors(const std::string& root) {
  cpu_set_t allowed;
  const int affinity = sched_getaffinity(0, sizeof(allowed), &allowed) == 0
                           ? CPU_COUNT(&allowed)
                           : int(std::thread::hardware_concurrency());
  return std::max(1, std::min(affinity, granted(root)));
}

}  // namespace mt::kernels
