#include "runtime/stats.h"

#include <unordered_map>

#include "base/error.h"

namespace mt::runtime {
namespace {

constexpr const char* kMetrics[] = {"current", "peak", "allocated", "freed"};
constexpr const char* kPools[] = {"all", "large_pool", "small_pool"};
constexpr const char* kPoolStats[] = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes"};
constexpr const char* kPlainStats[] = {"oversize_allocations", "oversize_segments"};
constexpr const char* kScalars[] = {"num_alloc_retries", "num_ooms",        "num_sync_all_streams",
                                    "num_device_alloc",  "num_device_free", "num_oom_rejections",
                                    "max_split_size"};

template <class Visit>
void for_each_stat(AllocatorStats& stats, Visit visit) {
  auto* first = reinterpret_cast<Stat*>(&stats);
  auto* last = reinterpret_cast<Stat*>(&stats.num_alloc_retries);
  for (Stat* stat = first; stat != last; ++stat) visit(*stat);
}

std::vector<std::string> make_names() {
  std::vector<std::string> names;
  for (const char* stat : kPoolStats)
    for (const char* pool : kPools)
      for (const char* metric : kMetrics) names.push_back(join_text(stat, ".", pool, ".", metric));
  for (const char* stat : kPlainStats)
    for (const char* metric : kMetrics) names.push_back(join_text(stat, ".", metric));
  for (const char* scalar : kScalars) names.push_back(scalar);
  return names;
}

}  // namespace

void AllocatorStats::reset_peak() {
  for_each_stat(*this, [](Stat& stat) { stat.peak = stat.current; });
}

void AllocatorStats::reset_accumulated() {
  for_each_stat(*this, [](Stat& stat) { stat.allocated = stat.freed = 0; });
  num_alloc_retries = num_ooms = num_sync_all_streams = 0;
  num_device_alloc = num_device_free = num_oom_rejections = 0;
}

const std::vector<std::string>& allocator_stat_names() {
  static const std::vector<std::string> names = make_names();
  return names;
}

size_t allocator_stat_index(std::string_view name) {
  static const auto indices = [] {
    std::unordered_map<std::string_view, size_t> map;
    const auto& names = allocator_stat_names();
    for (size_t i = 0; i < names.size(); ++i) map.emplace(names[i], i);
    return map;
  }();
  const auto found = indices.find(name);
  MT_CHECK(found != indices.end(), "'", name, "' is not an allocator statistic. Names are ",
           "'<metric>.<all|large_pool|small_pool>.<current|peak|allocated|freed>' (for example ",
           "'reserved_bytes.all.current'), 'oversize_allocations.<…>', 'oversize_segments.<…>' and counters "
           "such as "
           "'num_ooms'; memory_stats() lists all of them.");
  return found->second;
}

}  // namespace mt::runtime
