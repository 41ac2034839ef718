// exp and log of the float samplers: written orders of fused multiply-adds, so that every SIMD level has the same bits.
#pragma once

#include "vec16.h"

namespace SIMD_NAMESPACE {

// exp(x) within 0.79 ULP for normal results (1 ULP of the subnormal grid below), any x but NaN; exp(-inf) = 0,
// exp(x) = inf from 88.73 on. x = n ln 2 + r; 1 + r as an exact pair (high, low); high + (r^2 q(r) + low); times 2^n.
static inline F16 exp_f(F16 x) {
  const F16 one = set_f(1.0f), magic = set_f(0x1.8p23f), least = set_f(-104.0f);
  const F16 given = x;
  x = min_f(keep_ge_f(given, least, x), set_f(89.0f));  // results that round to 0 are not computed: underflow is slow
  const F16 n = sub_f(fma_f(x, set_f(0x1.715476p0f), magic), magic);  // the nearest integer to x / ln 2
  F16 r = fma_f(n, set_f(-0x1.62e4p-1f), x);
  r = fma_f(n, set_f(-0x1.7f7d1cp-20f), r);
  F16 q = set_f(0x1.6a4d14p-10f);
  q = fma_f(q, r, set_f(0x1.12398ap-7f));
  q = fma_f(q, r, set_f(0x1.5558bp-5f));
  q = fma_f(q, r, set_f(0x1.555492p-3f));
  q = fma_f(q, r, set_f(0x1.fffffcp-2f));
  const F16 high = add_f(one, r), low = sub_f(r, sub_f(high, one));
  return keep_ge_f(given, least, pow2_f(add_f(high, fma_f(q, mul_f(r, r), low)), n));
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
