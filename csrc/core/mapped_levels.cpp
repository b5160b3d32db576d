#include "core/mapped_levels.h"

#include <vector>

#include "base/per_thread.h"
#include "core/intercept.h"

namespace mt {
namespace {

constinit PerThread<std::vector<MappedLevel>> t_levels;

}  // namespace

void push_mapped_level(const MappedLevel& level) { t_levels->push_back(level); }

MappedLevel pop_mapped_level() {
  MT_CHECK(!t_levels->empty(), "this thread is inside no vmap");
  const MappedLevel level = t_levels->back();
  t_levels->pop_back();
  return level;
}

const MappedLevel* mapped_level() {
  const std::vector<MappedLevel>& levels = *t_levels;
  for (size_t i = levels.size(); i > 0; --i)
    if (levels[i - 1].level <= thread_state().highest_level) return &levels[i - 1];
  return nullptr;
}

const MappedLevel* mapped_level(int level) {
  for (const MappedLevel& each : *t_levels)
    if (each.level == level) return &each;
  return nullptr;
}

bool draws(const Operator& op) {
  return std::string_view(op.schema).find("Generator? generator") != std::string_view::npos;
}

uint8_t special_where_drawn() { return mapped_level() ? uint8_t(kBatched) : 0; }

}  // namespace mt
