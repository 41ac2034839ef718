// vec16.h for SIMD level 1: two AVX2 registers.
#pragma once

namespace SIMD_NAMESPACE {

struct F16 { __m256 a, b; };
struct U16 { __m256i a, b; };
struct D16 { __m256d v[4]; };

static inline F16 set_f(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline F16 load_f(const float *x) { return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)}; }
static inline void store_f(float *to, F16 x) {
  _mm256_storeu_ps(to, x.a);
  _mm256_storeu_ps(to + 8, x.b);
}
static inline F16 add_f(F16 x, F16 y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
static inline F16 sub_f(F16 x, F16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
static inline F16 mul_f(F16 x, F16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
static inline F16 fma_f(F16 x, F16 y, F16 z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
static inline F16 min_f(F16 x, F16 y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
static inline F16 max_f(F16 x, F16 y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }

static inline uint32_t joined(__m256 low, __m256 high) {
  return static_cast<uint32_t>(_mm256_movemask_ps(low)) | static_cast<uint32_t>(_mm256_movemask_ps(high)) << 8;
}
static inline uint32_t gt_f(F16 x, F16 y) {
  return joined(_mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ));
}
static inline uint32_t ge_f(F16 x, F16 y) {
  return joined(_mm256_cmp_ps(x.a, y.a, _CMP_GE_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GE_OQ));
}
static inline uint32_t lt_f(F16 x, F16 y) {
  return joined(_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ));
}

// All ones in the columns whose bit is set.
static inline __m256i spread(uint32_t mask) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(mask)), bit), bit);
}
static inline F16 keep_f(uint32_t m, F16 x) {
  return {_mm256_and_ps(_mm256_castsi256_ps(spread(m)), x.a), _mm256_and_ps(_mm256_castsi256_ps(spread(m >> 8)), x.b)};
}
static inline F16 keep_ge_f(F16 x, F16 y, F16 v) {
  return {_mm256_and_ps(_mm256_cmp_ps(x.a, y.a, _CMP_GE_OQ), v.a), _mm256_and_ps(_mm256_cmp_ps(x.b, y.b, _CMP_GE_OQ), v.b)};
}
static inline F16 choose_f(uint32_t m, F16 x, F16 y) {
  return {_mm256_blendv_ps(y.a, x.a, _mm256_castsi256_ps(spread(m))),
          _mm256_blendv_ps(y.b, x.b, _mm256_castsi256_ps(spread(m >> 8)))};
}

static inline __m256 pow2_half(__m256 v, __m256 n) {
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
  const __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const __m256 second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(v, first), second);  // the first product is exact
}
static inline F16 pow2_f(F16 v, F16 n) { return {pow2_half(v.a, n.a), pow2_half(v.b, n.b)}; }

static inline __m256 add_exponent_half(__m256 v, __m256 t) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), _mm256_slli_epi32(_mm256_castps_si256(t), 23)));
}
static inline F16 add_exponent_f(F16 v, F16 t) { return {add_exponent_half(v.a, t.a), add_exponent_half(v.b, t.b)}; }

// Conversions are signed: values from 2^31 on lose 2^31 before and get it back after.
static inline __m256i fixed31_half(__m256 p) {
  const __m256 one = _mm256_set1_ps(0x1p31f), scaled = _mm256_mul_ps(p, one);
  const __m256 large = _mm256_cmp_ps(scaled, one, _CMP_GE_OQ);
  const __m256i whole = _mm256_cvttps_epi32(_mm256_sub_ps(scaled, _mm256_and_ps(large, one)));
  return _mm256_xor_si256(whole, _mm256_slli_epi32(_mm256_castps_si256(large), 31));
}
static inline U16 fixed31(F16 p) { return {fixed31_half(p.a), fixed31_half(p.b)}; }

static inline U16 set_u(uint32_t x) {
  return {_mm256_set1_epi32(static_cast<int>(x)), _mm256_set1_epi32(static_cast<int>(x))};
}
static inline U16 load_u(const uint32_t *x) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i *>(x)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + 8))};
}
static inline void store_u(uint32_t *to, U16 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), x.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + 8), x.b);
}
static inline U16 add_u(U16 x, U16 y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
static inline U16 max_u(U16 x, U16 y) { return {_mm256_max_epu32(x.a, y.a), _mm256_max_epu32(x.b, y.b)}; }
static inline U16 keep_u(uint32_t m, U16 x) {
  return {_mm256_and_si256(spread(m), x.a), _mm256_and_si256(spread(m >> 8), x.b)};
}
static inline U16 keep_ge_u(F16 x, F16 y, U16 w) {
  return {_mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(x.a, y.a, _CMP_GE_OQ)), w.a),
          _mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(x.b, y.b, _CMP_GE_OQ)), w.b)};
}
static inline uint32_t ge_u(U16 x, U16 y) {
  const U16 top = max_u(x, y);
  return joined(_mm256_castsi256_ps(_mm256_cmpeq_epi32(top.a, x.a)), _mm256_castsi256_ps(_mm256_cmpeq_epi32(top.b, x.b)));
}

static inline D16 zero_d() {
  return {{_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()}};
}
static inline D16 add_d(D16 d, F16 f) {
  return {{_mm256_add_pd(d.v[0], _mm256_cvtps_pd(_mm256_castps256_ps128(f.a))),
           _mm256_add_pd(d.v[1], _mm256_cvtps_pd(_mm256_extractf128_ps(f.a, 1))),
           _mm256_add_pd(d.v[2], _mm256_cvtps_pd(_mm256_castps256_ps128(f.b))),
           _mm256_add_pd(d.v[3], _mm256_cvtps_pd(_mm256_extractf128_ps(f.b, 1)))}};
}
static inline D16 add_dd(D16 x, D16 y) {
  return {{_mm256_add_pd(x.v[0], y.v[0]), _mm256_add_pd(x.v[1], y.v[1]), _mm256_add_pd(x.v[2], y.v[2]),
           _mm256_add_pd(x.v[3], y.v[3])}};
}
static inline void store_d(double *to, D16 x) {
  for (int j = 0; j < 4; ++j) _mm256_storeu_pd(to + 4 * j, x.v[j]);
}

// The permutation that brings the set columns of eight to the front.
static inline __m256i packing(uint32_t mask) {
  const uint64_t bytes = _pdep_u64(mask & 0xFF, 0x0101010101010101u) * 0xFF;
  const uint64_t order = _pext_u64(0x0706050403020100u, bytes);
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(order)));
}
static inline void pack_f(float *to, F16 x, uint32_t mask) {
  _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(x.a, packing(mask)));
  _mm256_storeu_ps(to + __builtin_popcount(mask & 0xFF), _mm256_permutevar8x32_ps(x.b, packing(mask >> 8)));
}
static inline void pack_u(uint32_t *to, U16 x, uint32_t mask) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm256_permutevar8x32_epi32(x.a, packing(mask)));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + __builtin_popcount(mask & 0xFF)),
                      _mm256_permutevar8x32_epi32(x.b, packing(mask >> 8)));
}

static inline void bytes_of(uint32_t mask, uint8_t *to) {
  const uint64_t low = _pdep_u64(mask & 0xFF, 0x0101010101010101u), high = _pdep_u64(mask >> 8, 0x0101010101010101u);
  memcpy(to, &low, 8);
  memcpy(to + 8, &high, 8);
}

}  // namespace SIMD_NAMESPACE
