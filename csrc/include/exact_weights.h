// The arithmetic of `exact_sample` on one column: docs/spec/sampling.md, D. For C++17 and CUDA.
// Integers only, but for the two operations of exact_quantised, which a compiler must not fuse or flush.
#pragma once

#include <math.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define EXACT_FUNCTION static __host__ __device__ __forceinline__
#define EXACT_TABLE static __device__ constexpr
#else
#define EXACT_FUNCTION static inline
#define EXACT_TABLE static constexpr
#endif

enum { EXACT_SHIFT = 44, EXACT_FRACTION = 24, EXACT_POWER_TERMS = 7, EXACT_LOG1P_TERMS = 10 };
static constexpr uint64_t EXACT_ONE = 1ull << EXACT_SHIFT;
static constexpr uint32_t EXACT_LN2 = 2977044472u;

// C_1 .. C_7 and A_1 .. A_10, in units of 2^-32.
EXACT_TABLE uint32_t EXACT_POWER[EXACT_POWER_TERMS] = {2977044458u, 1031764650u, 238385494u, 41298234u,
                                                       5702267u,    632021u,     46333u};
EXACT_TABLE uint32_t EXACT_LOG1P[EXACT_LOG1P_TERMS] = {2147483102u, 1431628125u, 1073251299u, 854609690u, 692749761u,
                                                       535458990u,  356800646u,  180308780u,  58546861u,  8903262u};

EXACT_FUNCTION uint32_t exact_high(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}

// floor(a * b / 2^64).
EXACT_FUNCTION uint64_t exact_high64(uint64_t a, uint64_t b) {
  const uint64_t low = (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
  const uint64_t middle = (a >> 32) * (b & 0xFFFFFFFFu) + (low >> 32);
  const uint64_t other = (a & 0xFFFFFFFFu) * (b >> 32) + (middle & 0xFFFFFFFFu);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

EXACT_FUNCTION uint32_t exact_alternating(uint32_t t, const uint32_t *terms, int count) {
  uint32_t total = terms[count - 1];
  for (int term = count - 2; term >= 0; --term) total = terms[term] - exact_high(t, total);
  return total;
}

// q of step 1 for a logit x at most `top`: at most 64 * 2^24.
EXACT_FUNCTION uint32_t exact_quantised(float x, float top, float c) {
  const float y = (top - x) * c;
  return static_cast<uint32_t>((y < 64.0f ? y : 64.0f) * 16777216.0f);
}

// w of step 2.
EXACT_FUNCTION uint64_t exact_weight(uint32_t q) {
  const uint32_t whole = q >> EXACT_FRACTION;
  if (whole >= EXACT_SHIFT) return 0;
  const uint32_t t = q << (32 - EXACT_FRACTION);
  const uint32_t p = 0x80000000u - (exact_high(t, exact_alternating(t, EXACT_POWER, EXACT_POWER_TERMS)) >> 1);
  return (static_cast<uint64_t>(p) << (EXACT_SHIFT - 31)) >> whole;
}

// ln(1 + t) in units of 2^-32.
EXACT_FUNCTION uint32_t exact_log1p(uint32_t t) {
  return t - exact_high(t, exact_high(t, exact_alternating(t, EXACT_LOG1P, EXACT_LOG1P_TERMS)));
}

// floor(log2(value)) for value > 0.
EXACT_FUNCTION int exact_exponent(uint64_t value) {
  int exponent = 0;
  for (int step = 32; step > 0; step >>= 1) {
    if (value >> step) {
      value >>= step;
      exponent += step;
    }
  }
  return exponent;
}

// The 32 bits after the leading one of a value > 0.
EXACT_FUNCTION uint32_t exact_mantissa(uint64_t value, int exponent) {
  return static_cast<uint32_t>(value << (63 - exponent) >> 31);
}

// ln of a value > 0, in units of 2^-32.
EXACT_FUNCTION uint64_t exact_log(uint64_t value) {
  const int exponent = exact_exponent(value);
  return static_cast<uint64_t>(exponent) * EXACT_LN2 + exact_log1p(exact_mantissa(value, exponent));
}

// ln(w / total) where it is at most -ln 2; log_total is exact_log(total).
EXACT_FUNCTION float exact_logprob(uint64_t w, uint64_t log_total) {
  return static_cast<float>(static_cast<int64_t>(log_total - exact_log(w))) * -2.3283064365386963e-10f;
}

// ln(2^44 / (2^44 + others)) for others < 2^44.
EXACT_FUNCTION float exact_likely_logprob(uint64_t others) {
  if (others == 0) return 0.0f;
  const int exponent = exact_exponent(others);
  const uint32_t leading = static_cast<uint32_t>(others << (63 - exponent) >> 32);
  const uint32_t u = static_cast<uint32_t>(others >> (EXACT_SHIFT - 32));
  const uint32_t h = exact_high(u, exact_alternating(u, EXACT_LOG1P, EXACT_LOG1P_TERMS));
  return -ldexpf(static_cast<float>(leading - exact_high(leading, h)), exponent - 31 - EXACT_SHIFT);
}
