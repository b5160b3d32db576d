// CUPTI as the profiler's account of what GPUs did.
#pragma once

#include "core/task_tracer.h"

namespace mt::cuda::cupti {

TaskTracer& tracer();

// The places of the fields that are read of records (Note [Layouts of records] in cupti_records.h), for tests.
struct FieldPlace {
  const char *structure, *field;
  int place, bytes;
};
std::vector<FieldPlace> field_places();

}  // namespace mt::cuda::cupti
