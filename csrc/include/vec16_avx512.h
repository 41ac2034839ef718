// vec16.h for SIMD level 2: one AVX-512 register.
#pragma once

namespace SIMD_NAMESPACE {

struct F16 { __m512 v; };
struct U16 { __m512i v; };
struct D16 { __m512d a, b; };

static inline F16 set_f(float x) { return {_mm512_set1_ps(x)}; }
static inline F16 load_f(const float *x) { return {_mm512_loadu_ps(x)}; }
static inline void store_f(float *to, F16 x) { _mm512_storeu_ps(to, x.v); }
static inline F16 add_f(F16 x, F16 y) { return {_mm512_add_ps(x.v, y.v)}; }
static inline F16 sub_f(F16 x, F16 y) { return {_mm512_sub_ps(x.v, y.v)}; }
static inline F16 mul_f(F16 x, F16 y) { return {_mm512_mul_ps(x.v, y.v)}; }
static inline F16 fma_f(F16 x, F16 y, F16 z) { return {_mm512_fmadd_ps(x.v, y.v, z.v)}; }
static inline F16 min_f(F16 x, F16 y) { return {_mm512_min_ps(x.v, y.v)}; }
static inline F16 max_f(F16 x, F16 y) { return {_mm512_max_ps(x.v, y.v)}; }
static inline uint32_t gt_f(F16 x, F16 y) { return _mm512_cmp_ps_mask(x.v, y.v, _CMP_GT_OQ); }
static inline uint32_t ge_f(F16 x, F16 y) { return _mm512_cmp_ps_mask(x.v, y.v, _CMP_GE_OQ); }
static inline uint32_t lt_f(F16 x, F16 y) { return _mm512_cmp_ps_mask(x.v, y.v, _CMP_LT_OQ); }
static inline F16 keep_f(uint32_t m, F16 x) { return {_mm512_maskz_mov_ps(static_cast<__mmask16>(m), x.v)}; }
static inline F16 keep_ge_f(F16 x, F16 y, F16 v) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x.v, y.v, _CMP_GE_OQ), v.v)};
}
static inline F16 choose_f(uint32_t m, F16 x, F16 y) { return {_mm512_mask_mov_ps(y.v, static_cast<__mmask16>(m), x.v)}; }
static inline F16 pow2_f(F16 v, F16 n) { return {_mm512_scalef_ps(v.v, n.v)}; }
static inline F16 add_exponent_f(F16 v, F16 t) {
  return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(v.v), _mm512_slli_epi32(_mm512_castps_si512(t.v), 23)))};
}
static inline U16 fixed31(F16 p) { return {_mm512_cvttps_epu32(_mm512_mul_ps(p.v, _mm512_set1_ps(0x1p31f)))}; }

static inline U16 set_u(uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
static inline U16 load_u(const uint32_t *x) { return {_mm512_loadu_si512(x)}; }
static inline void store_u(uint32_t *to, U16 x) { _mm512_storeu_si512(to, x.v); }
static inline U16 add_u(U16 x, U16 y) { return {_mm512_add_epi32(x.v, y.v)}; }
static inline U16 max_u(U16 x, U16 y) { return {_mm512_max_epu32(x.v, y.v)}; }
static inline U16 keep_u(uint32_t m, U16 x) { return {_mm512_maskz_mov_epi32(static_cast<__mmask16>(m), x.v)}; }
static inline U16 keep_ge_u(F16 x, F16 y, U16 w) {
  return {_mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(x.v, y.v, _CMP_GE_OQ), w.v)};
}
static inline uint32_t ge_u(U16 x, U16 y) { return _mm512_cmpge_epu32_mask(x.v, y.v); }

static inline D16 zero_d() { return {_mm512_setzero_pd(), _mm512_setzero_pd()}; }
static inline D16 add_d(D16 d, F16 f) {
  return {_mm512_add_pd(d.a, _mm512_cvtps_pd(_mm512_castps512_ps256(f.v))),
          _mm512_add_pd(d.b, _mm512_cvtps_pd(_mm512_extractf32x8_ps(f.v, 1)))};
}
static inline D16 add_dd(D16 x, D16 y) { return {_mm512_add_pd(x.a, y.a), _mm512_add_pd(x.b, y.b)}; }
static inline void store_d(double *to, D16 x) {
  _mm512_storeu_pd(to, x.a);
  _mm512_storeu_pd(to + 8, x.b);
}

// Packed in a register, then stored whole: a packing store is slow on some CPUs.
static inline void pack_f(float *to, F16 x, uint32_t mask) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(static_cast<__mmask16>(mask), x.v));
}
static inline void pack_u(uint32_t *to, U16 x, uint32_t mask) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), x.v));
}

static inline void bytes_of(uint32_t mask, uint8_t *to) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm_maskz_set1_epi8(static_cast<__mmask16>(mask), 1));
}

}  // namespace SIMD_NAMESPACE
