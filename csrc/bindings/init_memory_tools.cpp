// _C._memory_tools: what `mindtorch memory` needs of the allocator: histories repeated, and files looked through.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string_view>

#include "base/error.h"
#include "runtime/plain_pickle.h"
#include "runtime/replay.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using namespace mt::runtime;

template <int kColumns>
using Table = nb::ndarray<const int64_t, nb::shape<-1, kColumns>, nb::c_contig, nb::device::cpu>;

std::vector<ReplayStep> steps_of(const Table<6>& table) {
  std::vector<ReplayStep> steps;
  steps.reserve(table.shape(0));
  const int64_t* row = table.data();
  for (size_t i = 0; i < table.shape(0); ++i, row += 6)
    steps.push_back({StepKind(row[0]), row[1], row[2], row[3], row[4], row[5]});
  return steps;
}

void repeat_device(Replay& self, const Table<3>& grants, const Table<2>& returns) {
  std::vector<RecordedGrant> granted;
  const int64_t* row = grants.data();
  for (size_t i = 0; i < grants.shape(0); ++i, row += 3)
    granted.push_back({row[0], Address(row[1]), size_t(row[2])});
  std::vector<RecordedReturn> returned;
  row = returns.data();
  for (size_t i = 0; i < returns.shape(0); ++i, row += 2) returned.push_back({row[0], size_t(row[1])});
  self.repeat_device(std::move(granted), std::move(returned));
}

// Rows of numbers as bytes, for numpy.frombuffer.
nb::bytes bytes_of(const std::vector<int64_t>& values) {
  return nb::bytes(values.data(), values.size() * sizeof(int64_t));
}

nb::bytes trace_of(Replay& self) {
  std::vector<int64_t> rows;
  for (const TraceEntry& entry : self.trace())
    rows.insert(rows.end(), {int64_t(entry.action), int64_t(entry.address), int64_t(entry.size),
                             int64_t(entry.stream), entry.pool});
  return bytes_of(rows);
}

nb::dict counts_of(Replay& self) {
  const ReplayCounts& counts = self.counts();
  const AllocatorStats stats = self.stats();
  nb::dict result;
  result["peak_allocated"] = stats.allocated_bytes.all.peak;
  result["peak_reserved"] = stats.reserved_bytes.all.peak;
  result["peak_reserved_step"] = counts.peak_reserved_step;
  result["allocated_at_peak_reserved"] = counts.allocated_at_peak_reserved;
  result["active_at_peak_reserved"] = counts.active_at_peak_reserved;
  result["peak_segments"] = counts.peak_segments;
  result["device_allocations"] = counts.device_allocations;
  result["device_frees"] = counts.device_frees;
  result["synchronizations"] = counts.synchronizations;
  result["refusals"] = counts.refusals;
  result["retries"] = stats.num_alloc_retries;
  result["collections"] = counts.collections;
  result["reached"] = counts.reached;
  result["failed_step"] = counts.failed_step;
  result["failure"] = counts.failure;
  return result;
}

}  // namespace

void init_memory_tools(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_memory_tools", "Histories of memory, repeated and read.");
  m.def(
      "check_plain_pickle",
      [](nb::bytes pickle, size_t most_bytes) {
        return check_plain_pickle(std::string_view(pickle.c_str(), pickle.size()), most_bytes);
      },
      "pickle"_a, "most_bytes"_a);
  m.def(
      "block_size",
      [](const AllocConf& conf, size_t requested) { return conf.allocator.block_size(requested); }, "conf"_a,
      "requested"_a);
  nb::class_<Replay>(m, "Replay")
      .def(
          "__init__",
          [](Replay* self, const AllocConf& conf, size_t capacity, const Table<6>& steps) {
            new (self) Replay(conf.allocator, capacity, steps_of(steps));
          },
          "conf"_a, "capacity"_a, "steps"_a,
          nb::sig("def __init__(self, conf: AllocConf, capacity: int, steps: object) -> None"))
      .def("repeat_device", &repeat_device, "grants"_a, "returns"_a,
           nb::sig("def repeat_device(self, grants: object, returns: object) -> None"))
      .def("record_from", &Replay::record_from, "step"_a)
      .def("run", &Replay::run, "last"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("counts", &counts_of)
      .def("trace", &trace_of)
      .def("reserved", [](Replay& self) { return bytes_of(self.reserved()); })
      .def("allocated", [](Replay& self) { return bytes_of(self.allocated()); });
}

}  // namespace mt::bindings
