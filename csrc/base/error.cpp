#include "base/error.h"

#include <sstream>

namespace mt {

void TextPart::write_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

std::string joined(std::initializer_list<TextPart> parts) {
  std::ostringstream out;
  for (const TextPart& part : parts) part.write_to(out);
  return out.str();
}

void fail_with(ErrorKind kind, std::initializer_list<TextPart> parts) { throw Error(kind, joined(parts)); }

}  // namespace mt
