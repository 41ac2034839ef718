// exp and log of the float samplers: written orders of fused multiply-adds, so that every SIMD level has the same bits.
#pragma once

#include "vec16.h"

namespace SIMD_NAMESPACE {

// x = n ln 2 + r with n the nearest integer to x / ln 2; returns e^r and leaves n + 1.5 * 2^23 in *shifted.
static inline F16 exp_reduced(F16 x, F16 *shifted) {
  const F16 one = set_f(1.0f), magic = set_f(0x1.8p23f);
  *shifted = fma_f(x, set_f(0x1.715476p0f), magic);
  const F16 n = sub_f(*shifted, magic);
  F16 r = fma_f(n, set_f(-0x1.62e4p-1f), x);
  r = fma_f(n, set_f(-0x1.7f7d1cp-20f), r);
  F16 p = set_f(0x1.6a4d14p-10f);
  p = fma_f(p, r, set_f(0x1.12398ap-7f));
  p = fma_f(p, r, set_f(0x1.5558bp-5f));
  p = fma_f(p, r, set_f(0x1.555492p-3f));
  p = fma_f(p, r, set_f(0x1.fffffcp-2f));
  return fma_f(fma_f(p, r, one), r, one);
}

// exp(x) within 0.9 ULP for normal results (1 ULP of the subnormal grid below), any x but NaN; exp(-inf) = 0,
// exp(x) = inf from 88.73 on. Results that round to 0 are not computed: underflow is slow.
static inline F16 exp_f(F16 x) {
  const F16 least = set_f(-104.0f);
  F16 shifted;
  const F16 reduced = exp_reduced(min_f(keep_ge_f(x, least, x), set_f(89.0f)), &shifted);
  return keep_ge_f(x, least, pow2_f(reduced, sub_f(shifted, set_f(0x1.8p23f))));
}

// The bits of exp_f for -87 <= x <= 88, and +0 below (there exp_f is below 2^-125): for terms beside which that is
// nothing.
static inline F16 exp_or_zero_f(F16 x) {
  F16 shifted;
  const F16 reduced = exp_reduced(x, &shifted);
  return keep_ge_f(x, set_f(-87.0f), add_exponent_f(reduced, shifted));
}

static inline float exp_one(float x) {
  float lane[16];
  store_f(lane, exp_f(set_f(x)));
  return lane[0];
}

// log(x) for x >= 0, computed in double and rounded once to float: 2 atanh(s) by its series, s = (m - 1) / (m + 1),
// x = m 2^e with m in [sqrt(1/2), sqrt(2)). log(0) = -inf.
static inline float log_one(float x) {
  if (x == 0.0f) return -HUGE_VALF;
  int e;
  double m = frexp(static_cast<double>(x), &e);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --e;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 21;
  for (int k = 19; k >= 3; k -= 2) series = fma(series, z, 1.0 / k);
  series = fma(series * z, s, s);
  return static_cast<float>(fma(static_cast<double>(e), 0x1.62e42fefa39efp-1, 2 * series));
}

}  // namespace SIMD_NAMESPACE
