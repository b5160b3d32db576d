// Transformations of functions take their tensors' operators over from here on. Called once, when the library is loaded,
// after register_operators.
#pragma once

namespace mt {

namespace batch {
void install();
}

}  // namespace mt
