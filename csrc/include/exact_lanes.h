// W columns at a time for csrc/cpu/exact_sample.cpp: 64-bit lanes at the SIMD level of the unit, one lane when scalar.
// SIDE is how many vectors a kernel keeps in flight. Every operation is exact, so a row depends on neither. Comparisons
// are signed: what is compared stays below 2^63.
#pragma once

#include <math.h>
#include <stdint.h>

#include "simd.h"

#if SIMD_LEVEL == 2

namespace SIMD_NAMESPACE {
typedef __m512i lanes;
typedef __mmask8 lane_mask;
enum { W = 8, SIDE = 8 };

static inline lanes all(uint64_t value) { return _mm512_set1_epi64(static_cast<long long>(value)); }
static inline lanes load(const uint64_t *from) { return _mm512_loadu_si512(from); }
static inline void store(uint64_t *to, lanes value) { _mm512_storeu_si512(to, value); }
static inline lanes add(lanes a, lanes b) { return _mm512_add_epi64(a, b); }
static inline lanes subtract(lanes a, lanes b) { return _mm512_sub_epi64(a, b); }
// Product of the low halves; the high halves are not looked at.
static inline lanes product(lanes a, lanes b) { return _mm512_mul_epu32(a, b); }
template <int N>
static inline lanes left(lanes a) { return _mm512_slli_epi64(a, N); }
template <int N>
static inline lanes right(lanes a) { return _mm512_srli_epi64(a, N); }
static inline lanes right_by(lanes a, lanes n) { return _mm512_srlv_epi64(a, n); }
static inline lane_mask less(lanes a, lanes b) { return _mm512_cmplt_epi64_mask(a, b); }
static inline lane_mask equal(lanes a, lanes b) { return _mm512_cmpeq_epi64_mask(a, b); }
static inline lane_mask neither(lane_mask a, lane_mask b) { return static_cast<lane_mask>(~(a | b)); }
static inline lanes zero_unless(lane_mask m, lanes a) { return _mm512_maskz_mov_epi64(m, a); }
static inline uint64_t sum(lanes a) { return static_cast<uint64_t>(_mm512_reduce_add_epi64(a)); }
static inline int count(lane_mask m) { return __builtin_popcount(m); }
// Bits of the double that equals a value below 2^52.
static inline lanes double_bits(lanes a) { return _mm512_castpd_si512(_mm512_cvtepu64_pd(a)); }
// exact_quantised of W logits.
static inline lanes quantised(const float *x, float top, float c) {
  const __m256 d = _mm256_sub_ps(_mm256_set1_ps(top), _mm256_loadu_ps(x));
  const __m256 y = _mm256_min_ps(_mm256_mul_ps(d, _mm256_set1_ps(c)), _mm256_set1_ps(64.0f));
  return _mm512_cvtepu32_epi64(_mm256_cvttps_epi32(_mm256_mul_ps(y, _mm256_set1_ps(16777216.0f))));
}
// out = -units * 2^-32 where w > 0, else -inf.
static inline void store_logprob(float *out, lanes units, lanes w) {
  const __m256 value = _mm256_mul_ps(_mm512_cvtepi64_ps(units), _mm256_set1_ps(-2.3283064365386963e-10f));
  const __mmask8 live = _mm512_test_epi64_mask(w, w);
  _mm256_storeu_ps(out, _mm256_mask_mov_ps(_mm256_set1_ps(-INFINITY), live, value));
}
static inline float largest(const float *x, int64_t n) {
  __m512 most = _mm512_set1_ps(-INFINITY);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) most = _mm512_max_ps(most, _mm512_loadu_ps(x + i));
  const __mmask16 rest = static_cast<__mmask16>((1u << (n - i)) - 1);
  most = _mm512_mask_max_ps(most, rest, most, _mm512_maskz_loadu_ps(rest, x + i));
  return _mm512_reduce_max_ps(most);
}
// Appends the lanes of `m` to `to` and returns the new end; W entries past it may be overwritten.
static inline uint64_t *append(uint64_t *to, lane_mask m, lanes a) {
  store(to, _mm512_maskz_compress_epi64(m, a));
  return to + count(m);
}
}  // namespace SIMD_NAMESPACE

#elif SIMD_LEVEL == 1

namespace SIMD_NAMESPACE {
typedef __m256i lanes;
typedef __m256i lane_mask;
enum { W = 4, SIDE = 8 };

static inline lanes all(uint64_t value) { return _mm256_set1_epi64x(static_cast<long long>(value)); }
static inline lanes load(const uint64_t *from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)); }
static inline void store(uint64_t *to, lanes value) { _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), value); }
static inline lanes add(lanes a, lanes b) { return _mm256_add_epi64(a, b); }
static inline lanes subtract(lanes a, lanes b) { return _mm256_sub_epi64(a, b); }
static inline lanes product(lanes a, lanes b) { return _mm256_mul_epu32(a, b); }
template <int N>
static inline lanes left(lanes a) { return _mm256_slli_epi64(a, N); }
template <int N>
static inline lanes right(lanes a) { return _mm256_srli_epi64(a, N); }
static inline lanes right_by(lanes a, lanes n) { return _mm256_srlv_epi64(a, n); }
static inline lane_mask less(lanes a, lanes b) { return _mm256_cmpgt_epi64(b, a); }
static inline lane_mask equal(lanes a, lanes b) { return _mm256_cmpeq_epi64(a, b); }
static inline lane_mask neither(lane_mask a, lane_mask b) {
  return _mm256_xor_si256(_mm256_or_si256(a, b), _mm256_set1_epi64x(-1));
}
static inline lanes zero_unless(lane_mask m, lanes a) { return _mm256_and_si256(m, a); }
static inline uint64_t sum(lanes a) {
  uint64_t part[4];
  store(part, a);
  return part[0] + part[1] + part[2] + part[3];
}
static inline int bits(lane_mask m) { return _mm256_movemask_pd(_mm256_castsi256_pd(m)); }
static inline int count(lane_mask m) { return __builtin_popcount(static_cast<unsigned>(bits(m))); }
static inline __m256d to_double(lanes a) {
  const __m256d magic = _mm256_set1_pd(4503599627370496.0);  // 2^52: its last bit counts units
  return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(a, _mm256_castpd_si256(magic))), magic);
}
static inline lanes double_bits(lanes a) { return _mm256_castpd_si256(to_double(a)); }
static inline lanes quantised(const float *x, float top, float c) {
  const __m128 d = _mm_sub_ps(_mm_set1_ps(top), _mm_loadu_ps(x));
  const __m128 y = _mm_min_ps(_mm_mul_ps(d, _mm_set1_ps(c)), _mm_set1_ps(64.0f));
  return _mm256_cvtepu32_epi64(_mm_cvttps_epi32(_mm_mul_ps(y, _mm_set1_ps(16777216.0f))));
}
static inline void store_logprob(float *out, lanes units, lanes w) {
  const __m128 value = _mm_mul_ps(_mm256_cvtpd_ps(to_double(units)), _mm_set1_ps(-2.3283064365386963e-10f));
  const __m256d dropped = _mm256_castsi256_pd(_mm256_cmpeq_epi64(w, _mm256_setzero_si256()));
  const __m256d wide = _mm256_blendv_pd(_mm256_cvtps_pd(value), _mm256_set1_pd(-INFINITY), dropped);
  _mm_storeu_ps(out, _mm256_cvtpd_ps(wide));
}
static inline float largest(const float *x, int64_t n) {
  __m256 most = _mm256_set1_ps(-INFINITY);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) most = _mm256_max_ps(most, _mm256_loadu_ps(x + i));
  float part[8];
  _mm256_storeu_ps(part, most);
  float value = -INFINITY;
  for (int lane = 0; lane < 8; ++lane) value = part[lane] > value ? part[lane] : value;
  for (; i < n; ++i) value = x[i] > value ? x[i] : value;
  return value;
}
static inline uint64_t *append(uint64_t *to, lane_mask m, lanes a) {
  uint64_t part[4];
  store(part, a);
  const int chosen = bits(m);
  for (int lane = 0; lane < 4; ++lane) {
    *to = part[lane];
    to += chosen >> lane & 1;
  }
  return to;
}
}  // namespace SIMD_NAMESPACE

#else

#include "exact_weights.h"

namespace SIMD_NAMESPACE {
typedef uint64_t lanes;
typedef bool lane_mask;
enum { W = 1, SIDE = 8 };

static inline lanes all(uint64_t value) { return value; }
static inline lanes load(const uint64_t *from) { return *from; }
static inline void store(uint64_t *to, lanes value) { *to = value; }
static inline lanes add(lanes a, lanes b) { return a + b; }
static inline lanes subtract(lanes a, lanes b) { return a - b; }
static inline lanes product(lanes a, lanes b) { return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu); }
template <int N>
static inline lanes left(lanes a) { return a << N; }
template <int N>
static inline lanes right(lanes a) { return a >> N; }
static inline lanes right_by(lanes a, lanes n) { return n < 64 ? a >> n : 0; }
static inline lane_mask less(lanes a, lanes b) { return a < b; }
static inline lane_mask equal(lanes a, lanes b) { return a == b; }
static inline lane_mask neither(lane_mask a, lane_mask b) { return !a && !b; }
static inline lanes zero_unless(lane_mask m, lanes a) { return m ? a : 0; }
static inline uint64_t sum(lanes a) { return a; }
static inline int count(lane_mask m) { return m; }
static inline lanes double_bits(lanes a) {
  const double value = static_cast<double>(a);
  lanes out;
  __builtin_memcpy(&out, &value, sizeof out);
  return out;
}
static inline lanes quantised(const float *x, float top, float c) { return exact_quantised(*x, top, c); }
static inline void store_logprob(float *out, lanes units, lanes w) {
  *out = w ? static_cast<float>(static_cast<int64_t>(units)) * -2.3283064365386963e-10f : -INFINITY;
}
static inline float largest(const float *x, int64_t n) {
  float value = x[0];
  for (int64_t i = 1; i < n; ++i) value = x[i] > value ? x[i] : value;
  return value;
}
static inline uint64_t *append(uint64_t *to, lane_mask m, lanes a) {
  *to = a;
  return to + m;
}
}  // namespace SIMD_NAMESPACE

#endif
