"""The functors of the CPU's kernels, compiled for GPUs: none is needed for that."""

import re

import pytest
from device_compiler import SOURCES, assembly_of, library

pytestmark = pytest.mark.skipif(
    library() is None,
    reason="NVRTC is not installed: pip install nvidia-cuda-nvrtc, or name libnvrtc in MINDTORCH_NVRTC",
)

# A kernel for each functor; what a functor computes is a function for each compute type, shared by the dtypes that are
# stored otherwise, which a third of the time would go to.
PROGRAM = """
#include "backends/cuda/device/functors.h"
using namespace mt;
using namespace mt::kernels;

template <class Op, class C> __noinline__ auto computed(C a, C b, C c, const C* p) {
  if constexpr (requires { Op::apply(a, p); }) return Op::apply(a, p);
  else if constexpr (requires { Op::apply(a, b, p); }) return Op::apply(a, b, p);
  else return Op::apply(a, b, c, p);
}
template <class Op, class C, class A> __noinline__ A reduced(const C* x, int64_t n) {
  A total = Op::template identity<A>();
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (requires { Op::template load<A>(x[i]); })
      total = Op::combine(total, Op::template load<A>(x[i]));
    else total = Op::combine(total, cast<A>(x[i]));
  }
  return Op::finish(total, n);
}
template <class Op, class T> void touch(const char* in, char* out, int64_t i, const void* parameters) {
  using C = compute_t<T>;
  const T* x = reinterpret_cast<const T*>(in) + i;
  if constexpr (requires { typename Op::template accumulator<T>; }) {
    const C values[] = {C(x[0]), C(x[1]), C(x[2])};
    reinterpret_cast<T*>(out)[i] = cast<T>(reduced<Op, C, typename Op::template accumulator<T>>(values, 3));
  } else {
    const auto result = computed<Op, C>(C(x[0]), C(x[1]), C(x[2]), static_cast<const C*>(parameters));
    using S = std::conditional_t<std::is_same_v<decltype(result), const bool>, bool, T>;
    reinterpret_cast<S*>(out)[i] = cast<S>(result);
  }
}
template <class Op> void touch_all(int dtype, const char* in, char* out, int64_t i, const void* parameters) {
  switch (DType(dtype)) {
#define X(id, type, legacy) \\
  case DType::id: \\
    if constexpr (contains(Op::domain, DType::id)) touch<Op, type>(in, out, i, parameters); \\
    break;
    MT_FORALL_DTYPES(X)
#undef X
    default: break;
  }
}
"""
KERNEL = """
extern "C" __global__ void run_%s(int dtype, const char* in, char* out, int64_t i, const void* parameters) {
  touch_all<%s>(dtype, in, out, i, parameters);
}"""
# Every dtype to every other, as copies convert them.
CASTS = """
template <class To, class From> void convert(const char* in, char* out, int64_t i) {
  reinterpret_cast<To*>(out)[i] = cast<To>(reinterpret_cast<const From*>(in)[i]);
}
template <class From> void convert_from(int to, const char* in, char* out, int64_t i) {
#define X(id, type, legacy) \\
  if (to == int(DType::id)) convert<type, From>(in, out, i);
  MT_FORALL_DTYPES(X)
#undef X
}
extern "C" __global__ void run_casts(int from, int to, const char* in, char* out, int64_t i) {
#define X(id, type, legacy) \\
  if (from == int(DType::id)) convert_from<type>(to, in, out, i);
  MT_FORALL_DTYPES(X)
#undef X
}
"""


def functors():
    for folder in ("elementwise", "activation", "reduce", "special"):
        text = re.sub(r"#define.*(\\\n.*)*", "", (SOURCES / f"kernels/{folder}/functors.h").read_text())
        yield from re.findall(r"^(?:MT_[A-Z_]+\(|struct )(\w+_op)\b", text, re.MULTILINE)


def test_every_functor_compiles_for_every_dtype_of_its_domain():
    names = list(functors())
    assert len(names) > 200
    source = PROGRAM + CASTS + "".join(KERNEL % (name, name) for name in names)
    assembly = assembly_of(source)
    assert all(f".entry run_{name}(" in assembly for name in [*names, "casts"])


def test_no_source_asks_what_it_is_compiled_for():
    headers = [*(SOURCES / "backends/cuda/device").rglob("*.h"), *(SOURCES / "kernels").rglob("*.h")]
    assert len(headers) > 50
    assert not [str(header) for header in headers if "__CUDA_ARCH__" in header.read_text()]
