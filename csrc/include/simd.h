// One kernel source, several CPUs: what NAME.cpp (built once a level) and NAME_dispatch.cpp (built once) share.
//
// SIMD_LEVEL  0 scalar, 1 AVX2, 2 AVX-512: set by the builder for a kernel, absent for a dispatch unit.
// SIMD_LEVELS how many of them the library contains (3 on x86-64, else 1).
//
// Template instances of the standard library may occur in several objects of one library; the linker keeps the first,
// and the builder links the lowest level first, so that a narrow CPU never runs a wide instance.
#pragma once

#if defined(SIMD_LEVEL)
#if SIMD_LEVEL == 0
#define SIMD_NAMESPACE simd_scalar
#elif SIMD_LEVEL == 1
#define SIMD_NAMESPACE simd_avx2
#elif SIMD_LEVEL == 2
#define SIMD_NAMESPACE simd_avx512
#else
#error "unknown SIMD_LEVEL"
#endif
#if SIMD_LEVEL > 0
#include <immintrin.h>
#endif
#endif

#define SIMD_EXPORT extern "C" __attribute__((visibility("default")))

#if SIMD_LEVELS == 3
// Declares a kernel function of every level: SIMD_DECLARE(void fill(float *out, long n))
#define SIMD_DECLARE(...)               \
  namespace simd_scalar { __VA_ARGS__; } \
  namespace simd_avx2 { __VA_ARGS__; }   \
  namespace simd_avx512 { __VA_ARGS__; }
// Calls the kernel function of one level: SIMD_CALL(level, fill, out, n)
#define SIMD_CALL(level, function, ...)                      \
  ((level) == 2   ? simd_avx512::function(__VA_ARGS__)       \
   : (level) == 1 ? simd_avx2::function(__VA_ARGS__)         \
                  : simd_scalar::function(__VA_ARGS__))
#else
#define SIMD_DECLARE(...) \
  namespace simd_scalar { __VA_ARGS__; }
#define SIMD_CALL(level, function, ...) ((void)(level), simd_scalar::function(__VA_ARGS__))
#endif
