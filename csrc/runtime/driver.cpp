#include "runtime/driver.h"

#include "base/error.h"

namespace mt::runtime {
namespace {

[[noreturn]] void refuse(const char* what) {
  fail(ErrorKind::not_implemented, "the driver of this device cannot ", what);
}

}  // namespace

std::string DeviceDriver::export_event(EventHandle) { refuse("share events between processes"); }
EventHandle DeviceDriver::import_event(const std::string&) { refuse("share events between processes"); }
Address DeviceDriver::reserve(size_t) { refuse("reserve addresses"); }
void DeviceDriver::unreserve(Address) { refuse("release addresses"); }
Mapping DeviceDriver::map(int, Address, size_t) { refuse("map memory"); }
void DeviceDriver::unmap(Address, MappingHandle) { refuse("unmap memory"); }
void DeviceDriver::begin_capture(StreamHandle, CaptureMode) { refuse("capture graphs"); }
GraphHandle DeviceDriver::end_capture(StreamHandle) { refuse("capture graphs"); }
void DeviceDriver::replay_graph(GraphHandle, StreamHandle) { refuse("replay graphs"); }
void DeviceDriver::destroy_graph(GraphHandle) { refuse("capture graphs"); }
void DeviceDriver::describe_graph(GraphHandle, const std::string&) { refuse("describe graphs"); }

}  // namespace mt::runtime
