// Philox4x32-10 numbered as cuRAND's device API numbers it (docs/spec/rng.md). For C++17 and CUDA.
#pragma once

#include <stdint.h>

#if defined(__CUDACC__)
#define PHILOX_FUNCTION static __host__ __device__ __forceinline__
#else
#define PHILOX_FUNCTION static inline
#endif

enum : uint32_t {
  PHILOX_M0 = 0xD2511F53u,
  PHILOX_M1 = 0xCD9E8D57u,
  PHILOX_W0 = 0x9E3779B9u,
  PHILOX_W1 = 0xBB67AE85u,
};
enum { PHILOX_ROUNDS = 10 };

struct philox_block {
  uint32_t word[4];
};

// The block function: counter c0..c3, key k0, k1.
PHILOX_FUNCTION philox_block philox4x32_10(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < PHILOX_ROUNDS; ++round) {
    const uint64_t p0 = static_cast<uint64_t>(PHILOX_M0) * c0;
    const uint64_t p1 = static_cast<uint64_t>(PHILOX_M1) * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += PHILOX_W0;
    k1 += PHILOX_W1;
  }
  return {{c0, c1, c2, c3}};
}

// Block `index` of the stream (seed, subsequence): words 4 * index .. 4 * index + 3.
PHILOX_FUNCTION philox_block philox_stream_block(uint64_t seed, uint64_t subsequence, uint64_t index) {
  return philox4x32_10(static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(subsequence),
                       static_cast<uint32_t>(subsequence >> 32), static_cast<uint32_t>(seed),
                       static_cast<uint32_t>(seed >> 32));
}

// Word `index` of the stream.
PHILOX_FUNCTION uint32_t philox_word(uint64_t seed, uint64_t subsequence, uint64_t index) {
  return philox_stream_block(seed, subsequence, index >> 2).word[index & 3];
}

// cuRAND's float map: in (0, 1], exactly 1 for the top 128 words. The product is exact, so one rounding at the sum.
PHILOX_FUNCTION float philox_uniform(uint32_t word) {
  return static_cast<float>(word) * 2.3283064365386963e-10f + 1.16415321826934814e-10f;
}

// A draw loop's view of a stream from its word 0: philox_next returns word 0, 1, 2, ... and computes a block only when
// its first word is asked for.
struct philox_stream {
  uint64_t seed, subsequence, index;
  philox_block block;
};

PHILOX_FUNCTION philox_stream philox_open(uint64_t seed, uint64_t subsequence) {
  return {seed, subsequence, 0, {{0, 0, 0, 0}}};
}

PHILOX_FUNCTION uint32_t philox_next(philox_stream *stream) {
  if ((stream->index & 3) == 0) {
    stream->block = philox_stream_block(stream->seed, stream->subsequence, stream->index >> 2);
  }
  return stream->block.word[stream->index++ & 3];
}
