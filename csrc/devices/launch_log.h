// What was enqueued lately, and by which line of Python: when a wait reports that something failed on the device,
// the message can say what it may have been.
#pragma once

#include <string>

namespace mt::devices {

// `name` lives for ever. Called after every launch; costs a few tens of nanoseconds.
void note_launch(const char* name, void* stream);
// Everything enqueued on the stream (null: on all streams) so far has ended well.
void note_waited(void* stream);
// A sentence about the launches since the last wait: of the operator that `message` names, else the last ones.
std::string describe_launches(const std::string& message);

}  // namespace mt::devices
