// vec16.h for SIMD level 0: plain loops.
#pragma once

namespace SIMD_NAMESPACE {

struct F16 { float v[16]; };
struct U16 { uint32_t v[16]; };
struct D16 { double v[16]; };

#define VEC16(type, expression)                       \
  type r;                                             \
  for (int j = 0; j < 16; ++j) r.v[j] = (expression); \
  return r
#define MASK16(condition)                                                    \
  uint32_t m = 0;                                                            \
  for (int j = 0; j < 16; ++j) m |= static_cast<uint32_t>(condition) << j; \
  return m

static inline F16 set_f(float a) { VEC16(F16, a); }
static inline F16 load_f(const float *a) { VEC16(F16, a[j]); }
static inline void store_f(float *to, F16 a) { memcpy(to, a.v, sizeof a.v); }
static inline F16 add_f(F16 a, F16 b) { VEC16(F16, a.v[j] + b.v[j]); }
static inline F16 sub_f(F16 a, F16 b) { VEC16(F16, a.v[j] - b.v[j]); }
static inline F16 mul_f(F16 a, F16 b) { VEC16(F16, a.v[j] * b.v[j]); }
static inline F16 fma_f(F16 a, F16 b, F16 c) { VEC16(F16, fmaf(a.v[j], b.v[j], c.v[j])); }
static inline F16 min_f(F16 a, F16 b) { VEC16(F16, a.v[j] < b.v[j] ? a.v[j] : b.v[j]); }
static inline F16 max_f(F16 a, F16 b) { VEC16(F16, a.v[j] > b.v[j] ? a.v[j] : b.v[j]); }
static inline uint32_t gt_f(F16 a, F16 b) { MASK16(a.v[j] > b.v[j]); }
static inline uint32_t ge_f(F16 a, F16 b) { MASK16(a.v[j] >= b.v[j]); }
static inline uint32_t lt_f(F16 a, F16 b) { MASK16(a.v[j] < b.v[j]); }
static inline F16 keep_f(uint32_t m, F16 a) { VEC16(F16, m >> j & 1 ? a.v[j] : 0.0f); }
static inline F16 keep_ge_f(F16 a, F16 b, F16 v) { VEC16(F16, a.v[j] >= b.v[j] ? v.v[j] : 0.0f); }
static inline F16 choose_f(uint32_t m, F16 a, F16 b) { VEC16(F16, m >> j & 1 ? a.v[j] : b.v[j]); }

static inline float power_of_two(int32_t n) {
  const uint32_t bits = static_cast<uint32_t>(n + 127) << 23;
  float r;
  memcpy(&r, &bits, sizeof r);
  return r;
}

static inline float pow2_one(float v, float n) {
  const int32_t whole = static_cast<int32_t>(n), half = whole >> 1;
  return v * power_of_two(half) * power_of_two(whole - half);  // the first product is exact
}

static inline F16 pow2_f(F16 v, F16 n) { VEC16(F16, pow2_one(v.v[j], n.v[j])); }
static inline float add_exponent_one(float v, float t) {
  uint32_t bits, shift;
  memcpy(&bits, &v, sizeof bits);
  memcpy(&shift, &t, sizeof shift);
  bits += shift << 23;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline F16 add_exponent_f(F16 v, F16 t) { VEC16(F16, add_exponent_one(v.v[j], t.v[j])); }
static inline U16 fixed31(F16 p) { VEC16(U16, static_cast<uint32_t>(static_cast<int64_t>(p.v[j] * 0x1p31f))); }

static inline U16 set_u(uint32_t a) { VEC16(U16, a); }
static inline U16 load_u(const uint32_t *a) { VEC16(U16, a[j]); }
static inline void store_u(uint32_t *to, U16 a) { memcpy(to, a.v, sizeof a.v); }
static inline U16 add_u(U16 a, U16 b) { VEC16(U16, a.v[j] + b.v[j]); }
static inline U16 max_u(U16 a, U16 b) { VEC16(U16, a.v[j] > b.v[j] ? a.v[j] : b.v[j]); }
static inline U16 keep_u(uint32_t m, U16 a) { VEC16(U16, m >> j & 1 ? a.v[j] : 0u); }
static inline U16 keep_ge_u(F16 a, F16 b, U16 w) { VEC16(U16, a.v[j] >= b.v[j] ? w.v[j] : 0u); }
static inline uint32_t ge_u(U16 a, U16 b) { MASK16(a.v[j] >= b.v[j]); }

static inline D16 zero_d() { VEC16(D16, 0.0); }
static inline D16 add_d(D16 d, F16 f) { VEC16(D16, d.v[j] + static_cast<double>(f.v[j])); }
static inline D16 add_dd(D16 a, D16 b) { VEC16(D16, a.v[j] + b.v[j]); }
static inline void store_d(double *to, D16 a) { memcpy(to, a.v, sizeof a.v); }

template <class T>
static inline void pack_columns(T *to, const T *from, uint32_t mask) {
  for (; mask; mask &= mask - 1) *to++ = from[__builtin_ctz(mask)];
}
static inline void pack_f(float *to, F16 a, uint32_t mask) { pack_columns(to, a.v, mask); }
static inline void pack_u(uint32_t *to, U16 a, uint32_t mask) { pack_columns(to, a.v, mask); }

static inline void bytes_of(uint32_t mask, uint8_t *to) {
  for (int j = 0; j < 16; ++j) to[j] = mask >> j & 1;
}

#undef VEC16
#undef MASK16

}  // namespace SIMD_NAMESPACE
