// Sixteen columns at a time, the same bits at every SIMD level: F16 floats, U16 unsigned 32-bit integers, D16 doubles,
// and masks as plain integers whose bit j is column j. Only for kernels (SIMD_LEVEL is set).
//
// Every level supplies:
//   set_f, load_f, store_f, add_f, sub_f, mul_f, fma_f(a, b, c) = a * b + c rounded once, min_f, max_f
//   gt_f, ge_f, lt_f (false for NaN), keep_f(mask, v) = v where the mask is set, else +0; choose_f(mask, v, other)
//   keep_ge_f(a, b, v) = v where a >= b, else +0
//   pow2_f(v, n) = v * 2^n rounded once, for integral n in [-152, 128] and v in [1/2, 2)
//   add_exponent_f(v, t) = v * 2^n for t = 1.5 * 2^23 + n, where both are normal
//   fixed31(p) = floor(p * 2^31), for p in [0, 2)
//   set_u, load_u, store_u, add_u, max_u, keep_u, keep_ge_u(a, b, w) = w where the floats a >= b, ge_u
//   zero_d, add_d(d, f) = d + f, add_dd(d, e) = d + e
//   pack_f, pack_u(to, v, mask): writes the set columns of v to `to` in order; up to 16 entries of `to` are overwritten
//   bytes_of(mask, to): 16 bytes of 0 or 1
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simd.h"

#if SIMD_LEVEL == 0
#include "vec16_scalar.h"
#elif SIMD_LEVEL == 1
#include "vec16_avx2.h"
#else
#include "vec16_avx512.h"
#endif

namespace SIMD_NAMESPACE {

enum : uint32_t { ALL16 = 0xFFFFu };

static inline uint32_t first_columns(int64_t count) { return count >= 16 ? ALL16 : (1u << count) - 1; }

static inline int64_t popcount(uint32_t mask) { return __builtin_popcount(mask); }

// The first `count` floats of `from`, then `fill`.
static inline F16 load_some(const float *from, int64_t count, float fill) {
  if (count >= 16) return load_f(from);
  float columns[16];
  for (int j = 0; j < 16; ++j) columns[j] = j < count ? from[j] : fill;
  return load_f(columns);
}

template <class T>
static inline void store_some(T *to, const T *columns, int64_t count) {
  memcpy(to, columns, sizeof(T) * (count < 16 ? count : 16));
}

// The tree 8, 4, 2, 1: lane j += lane j + h.
template <class T>
static inline T tree(T *lane) {
  for (int h = 8; h; h /= 2) {
    for (int j = 0; j < h; ++j) lane[j] += lane[j + h];
  }
  return lane[0];
}

static inline float tree_sum(F16 v) {
  float lane[16];
  store_f(lane, v);
  return tree(lane);
}

static inline double tree_sum(D16 v) {
  double lane[16];
  store_d(lane, v);
  return tree(lane);
}

static inline uint32_t sum_u(U16 v) {
  uint32_t lane[16];
  store_u(lane, v);
  return tree(lane);
}

static inline float greatest_f(F16 v) {
  float lane[16];
  store_f(lane, v);
  float top = lane[0];
  for (int j = 1; j < 16; ++j) top = lane[j] > top ? lane[j] : top;
  return top;
}

static inline uint32_t greatest_u(U16 v) {
  uint32_t lane[16];
  store_u(lane, v);
  uint32_t top = lane[0];
  for (int j = 1; j < 16; ++j) top = lane[j] > top ? lane[j] : top;
  return top;
}

}  // namespace SIMD_NAMESPACE
