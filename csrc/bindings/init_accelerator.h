// What every accelerator with streams shows to the Python module of its device.
#pragma once

#include <nanobind/nanobind.h>

#include "devices/stream_accelerator.h"

namespace mt::bindings {

// Adds the functions to the module and `Tensor.is_<name>`, and lets Python make the memory pools.
void add_accelerator(nanobind::module_& m, devices::StreamAccelerator& accelerator);

// The functions alone, for a device that is registered later or not at all.
void add_accelerator_functions(nanobind::module_& m, devices::StreamAccelerator& accelerator);

// The class of captured graphs, for all of them.
void add_graphs(nanobind::module_& m);

// What is asked of a device by its type: functions of the package's module.
void add_accelerators(nanobind::module_& m);

}  // namespace mt::bindings
