#include "ops/out_dtype.h"

namespace mt::results {
namespace {

const char* name_in_cpp(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool";
    case DType::uint8: return "unsigned char";
    case DType::int8: return "signed char";
    case DType::int16: return "short int";
    case DType::int32: return "int";
    case DType::int64: return "long int";
    case DType::float16: return "c10::Half";
    case DType::bfloat16: return "c10::BFloat16";
    case DType::float32: return "float";
    case DType::float64: return "double";
    case DType::complex64: return "c10::complex<float>";
    case DType::complex128: return "c10::complex<double>";
    default: return info(dtype).name;
  }
}

}  // namespace

void refuse_dtype(DType got, DType wanted, std::string_view words) {
  std::string text(words);
  const std::pair<std::string_view, std::string_view> names[] = {{"{wanted}", info(wanted).legacy},
                                                                 {"{got}", info(got).legacy},
                                                                 {"{wanted.c}", name_in_cpp(wanted)},
                                                                 {"{got.c}", name_in_cpp(got)}};
  for (const auto& [place, name] : names)
    for (size_t at; (at = text.find(place)) != std::string::npos;) text.replace(at, place.size(), name);
  fail(ErrorKind::runtime, text);
}

}  // namespace mt::results
