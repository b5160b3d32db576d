// Which device a stream belongs to, for pools that serve all devices and only get the stream's handle.
#pragma once

namespace mt::npu {

// A stream that this runtime did not make is taken for one of the current device.
int device_of_stream(void* stream);

}  // namespace mt::npu
