// Consecutive words and uniforms of one stream. All levels compute the same integers.
//
// The wide levels keep each 32-bit word in the low half of a 64-bit lane and one block a lane: the multiplier ignores
// the high half, so a product is used as it comes, as its own low word. Counter words 1 to 3 are the same for a run of
// blocks, which leaves less than half of the first three rounds to compute a lane.
#include "philox.h"

#include "simd.h"

namespace SIMD_NAMESPACE {

#if SIMD_LEVEL == 2

typedef __m512i vec;
static const int LANES = 8;
static const int GROUPS = 4;

static inline vec all(uint32_t x) { return _mm512_set1_epi64(x); }
// Lane order: two interleaved halves, so that store_blocks writes blocks 0..7 in order.
static inline vec first_counters(uint32_t at) {
  return _mm512_add_epi64(all(at), _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0));
}
static inline vec add(vec a, vec b) { return _mm512_add_epi64(a, b); }
static inline vec multiply(vec a, vec b) { return _mm512_mul_epu32(a, b); }
static inline vec high(vec a) { return _mm512_srli_epi64(a, 32); }
static inline vec xor2(vec a, vec b) { return _mm512_xor_si512(a, b); }
static inline vec xor3(vec a, vec b, vec c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
static inline void store_blocks(uint32_t *out, vec c0, vec c1, vec c2, vec c3) {
  const vec w01 = _mm512_mask_shuffle_epi32(c0, 0xAAAA, c1, _MM_PERM_CCAA);
  const vec w23 = _mm512_mask_shuffle_epi32(c2, 0xAAAA, c3, _MM_PERM_CCAA);
  _mm512_storeu_si512(out, _mm512_unpacklo_epi64(w01, w23));
  _mm512_storeu_si512(out + 16, _mm512_unpackhi_epi64(w01, w23));
}

#elif SIMD_LEVEL == 1

typedef __m256i vec;
static const int LANES = 4;
static const int GROUPS = 4;

static inline vec all(uint32_t x) { return _mm256_set1_epi64x(x); }
static inline vec first_counters(uint32_t at) { return _mm256_add_epi64(all(at), _mm256_set_epi64x(3, 1, 2, 0)); }
static inline vec add(vec a, vec b) { return _mm256_add_epi64(a, b); }
static inline vec multiply(vec a, vec b) { return _mm256_mul_epu32(a, b); }
static inline vec high(vec a) { return _mm256_srli_epi64(a, 32); }
static inline vec xor2(vec a, vec b) { return _mm256_xor_si256(a, b); }
static inline vec xor3(vec a, vec b, vec c) { return xor2(xor2(a, b), c); }
static inline void store_blocks(uint32_t *out, vec c0, vec c1, vec c2, vec c3) {
  const vec w01 = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xAA);
  const vec w23 = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xAA);
  _mm256_storeu_si256(reinterpret_cast<vec *>(out), _mm256_unpacklo_epi64(w01, w23));
  _mm256_storeu_si256(reinterpret_cast<vec *>(out + 8), _mm256_unpackhi_epi64(w01, w23));
}

#endif

#if SIMD_LEVEL > 0

static const int64_t STEP = GROUPS * LANES;

// What the first rounds share over a run of blocks with the same high counter word, and the later rounds' keys.
struct run {
  uint32_t after1_c0, after1_c1, into1_c2;  // round 1: c0, c1 and what is added into c2
  uint32_t into2_c0, into2_c2;              // round 2
  uint32_t into3_c2;                        // round 3
  uint32_t k0[PHILOX_ROUNDS], k1[PHILOX_ROUNDS];
};

static inline run prepare(uint64_t seed, uint64_t subsequence, uint32_t counter_high) {
  run r;
  for (uint32_t i = 0; i < PHILOX_ROUNDS; ++i) {
    r.k0[i] = static_cast<uint32_t>(seed) + i * PHILOX_W0;
    r.k1[i] = static_cast<uint32_t>(seed >> 32) + i * PHILOX_W1;
  }
  const uint64_t p1 = static_cast<uint64_t>(PHILOX_M1) * static_cast<uint32_t>(subsequence);
  r.after1_c0 = static_cast<uint32_t>(p1 >> 32) ^ counter_high ^ r.k0[0];
  r.after1_c1 = static_cast<uint32_t>(p1);
  r.into1_c2 = static_cast<uint32_t>(subsequence >> 32) ^ r.k1[0];
  const uint64_t p0 = static_cast<uint64_t>(PHILOX_M0) * r.after1_c0;
  r.into2_c0 = r.after1_c1 ^ r.k0[1];
  r.into2_c2 = static_cast<uint32_t>(p0 >> 32) ^ r.k1[1];
  r.into3_c2 = static_cast<uint32_t>(p0) ^ r.k1[2];
  return r;
}

// `steps` times STEP blocks from block `index` on; their low counter word does not wrap.
static void fill_steps(const run &r, uint32_t index, int64_t steps, uint32_t *out) {
  const vec m0 = all(PHILOX_M0), m1 = all(PHILOX_M1);
  vec counter = first_counters(index);
  for (int64_t step = 0; step < steps; ++step, out += 4 * STEP) {
    vec c0[GROUPS], c1[GROUPS], c2[GROUPS], c3[GROUPS];
#pragma GCC unroll 4
    for (int g = 0; g < GROUPS; ++g) {
      const vec p0 = multiply(counter, m0);
      counter = add(counter, all(LANES));
      c2[g] = xor2(high(p0), all(r.into1_c2));
      c3[g] = p0;
    }
#pragma GCC unroll 4
    for (int g = 0; g < GROUPS; ++g) {
      c1[g] = multiply(c2[g], m1);
      c0[g] = xor2(high(c1[g]), all(r.into2_c0));
      c2[g] = xor2(c3[g], all(r.into2_c2));
    }
#pragma GCC unroll 4
    for (int g = 0; g < GROUPS; ++g) {
      const vec p0 = multiply(c0[g], m0), p1 = multiply(c2[g], m1);
      c0[g] = xor3(high(p1), c1[g], all(r.k0[2]));
      c1[g] = p1;
      c2[g] = xor2(high(p0), all(r.into3_c2));
      c3[g] = p0;
    }
#pragma GCC unroll 10
    for (int round = 3; round < PHILOX_ROUNDS; ++round) {
#pragma GCC unroll 4
      for (int g = 0; g < GROUPS; ++g) {
        const vec p0 = multiply(c0[g], m0), p1 = multiply(c2[g], m1);
        c0[g] = xor3(high(p1), c1[g], all(r.k0[round]));
        c1[g] = p1;
        c2[g] = xor3(high(p0), c3[g], all(r.k1[round]));
        c3[g] = p0;
      }
    }
#pragma GCC unroll 4
    for (int g = 0; g < GROUPS; ++g) store_blocks(out + 4 * LANES * g, c0[g], c1[g], c2[g], c3[g]);
  }
}

// Whole blocks from block `index` on; returns how many were written, a multiple of STEP.
static int64_t fill_wide(uint64_t seed, uint64_t subsequence, uint64_t index, int64_t blocks, uint32_t *out) {
  int64_t done = 0;
  while (blocks - done >= STEP) {
    const uint64_t at = index + done;
    const int64_t to_wrap = (int64_t{1} << 32) - static_cast<int64_t>(at & 0xFFFFFFFFu);
    const int64_t steps = (blocks - done < to_wrap ? blocks - done : to_wrap) / STEP;
    if (steps == 0) break;  // the low counter word wraps inside this step
    fill_steps(prepare(seed, subsequence, static_cast<uint32_t>(at >> 32)), static_cast<uint32_t>(at), steps, out + 4 * done);
    done += steps * STEP;
  }
  return done;
}

#else

static int64_t fill_wide(uint64_t, uint64_t, uint64_t, int64_t, uint32_t *) { return 0; }

#endif

// `count` words from word `lane` (any number, not only 0..3) of block `index` on.
void fill_words(uint64_t seed, uint64_t subsequence, uint64_t index, int64_t lane, int64_t count, uint32_t *out) {
  index += lane >> 2;
  lane &= 3;
  for (int64_t done = 0; done < count; lane = 0) {
    if (lane == 0) {
      const int64_t wide = fill_wide(seed, subsequence, index, (count - done) / 4, out + done);
      index += wide;
      done += 4 * wide;
    }
    const philox_block block = philox_stream_block(seed, subsequence, index++);
    for (; lane < 4 && done < count; ++lane) out[done++] = block.word[lane];
  }
}

// As fill_words, through cuRAND's float map.
void fill_uniform(uint64_t seed, uint64_t subsequence, uint64_t index, int64_t lane, int64_t count, float *out) {
  uint32_t words[2048];
  for (int64_t done = 0; done < count;) {
    const int64_t part = count - done < 2048 ? count - done : 2048;
    fill_words(seed, subsequence, index, lane + done, part, words);
    for (int64_t i = 0; i < part; ++i) out[done + i] = philox_uniform(words[i]);
    done += part;
  }
}

}  // namespace SIMD_NAMESPACE
