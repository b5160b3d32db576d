// Every functor of the CPU's kernels as device code: the same lines, compiled by NVRTC at first use.
//
// Note [Device code]
// A program is a text that includes headers of this folder and has kernels in it:
//
//     #include "backends/cuda/device/functors.h"
//     extern "C" __global__ void exp_float(const float* x, float* out, int64_t n) {
//       const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
//       if (i < n) out[i] = mt::kernels::exp_op::apply<float>(x[i], nullptr);
//     }
//
// Options: --std=c++20 --device-as-default-execution-space -DMT_DEVICE_CODE=1 -arch=sm_XX
//          -diag-suppress=1097,161,186,20044   (attributes and pragmas of GCC, comparisons that are always true, and
//          the table of dtypes, which is declared and not used here)
// Headers are handed over by the names that they are included by (nvrtcCreateProgram), so nothing is read from disk.
// A name is looked up in device/std first, then in csrc: device/std has the standard library as far as kernels use it,
// and stands for base/half.h (conversions by the chip's instructions) and base/error.h (nothing is raised here).
// What functors.h needs:
//   of device/std: algorithm bit cmath complex cstddef cstdint limits numbers type_traits utility base/error.h base/half.h
//   of csrc: base/{dtype,float8,scalar,special_fits}.h, kernels/common/{arithmetic,packs,types,vector_math,
//            vector_remainder,view}.h, kernels/complex/complex_math.h, kernels/elementwise/{elementwise,functors}.h,
//            kernels/{activation,reduce}/functors.h, kernels/special/{erf_gamma,fit,functors,special}.h and
//            kernels/special/{bessel,error,gamma,polynomial}.cpp
// which is what following the includes of a program gives (tests/cuda/device_compiler.py).
//
// MT_DEVICE_CODE is asked for in two places: kernels/common/vector_math.h, where the compiler's own functions stand for
// those that are written for vectors, and kernels/common/arithmetic.h, because nothing can be raised.
// A functor's apply() takes compute_t of the stored type (float for halves) and parameters of that type.
#pragma once

#include "kernels/elementwise/functors.h"
// Special functions are files of their own on the host, and part of the program here.
#include "kernels/special/bessel.cpp"
#include "kernels/special/error.cpp"
#include "kernels/special/gamma.cpp"
#include "kernels/special/polynomial.cpp"
