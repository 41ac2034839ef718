// C ABI of the Philox kernels: many streams, any start, any count. docs/spec/rng.md, section 2.
#include "philox.h"
#include "simd.h"
#include "threads.h"

SIMD_DECLARE(void fill_words(uint64_t seed, uint64_t subsequence, uint64_t index, int64_t lane, int64_t count, uint32_t *out))
SIMD_DECLARE(void fill_uniform(uint64_t seed, uint64_t subsequence, uint64_t index, int64_t lane, int64_t count, float *out))

// Words a thread: starting one costs about as much as computing this many.
static const int64_t GRAIN = 65536;

// Calls fill(key, column, count, where) for the pieces of rows that make up each thread's range of the output.
template <class Fill>
static void each_piece(int threads, int64_t keys, int64_t count, const Fill &fill) {
  if (count <= 0) return;
  parallel_ranges(keys * count, threads, GRAIN, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last;) {
      const int64_t key = at / count, column = at % count;
      const int64_t part = count - column < last - at ? count - column : last - at;
      fill(key, column, part, at);
      at += part;
    }
  });
}

// out[k * count + i] = word starts[k] + i of the stream (seeds[k], subsequences[k]).
SIMD_EXPORT void philox_words(int level, int threads, const uint64_t *seeds, const uint64_t *subsequences,
                              const uint64_t *starts, int64_t keys, int64_t count, uint32_t *out) {
  each_piece(threads, keys, count, [&](int64_t key, int64_t column, int64_t part, int64_t where) {
    const int64_t lane = static_cast<int64_t>(starts[key] & 3) + column;
    SIMD_CALL(level, fill_words, seeds[key], subsequences[key], starts[key] >> 2, lane, part, out + where);
  });
}

// The float map of the same words.
SIMD_EXPORT void philox_uniform_floats(int level, int threads, const uint64_t *seeds, const uint64_t *subsequences,
                                       const uint64_t *starts, int64_t keys, int64_t count, float *out) {
  each_piece(threads, keys, count, [&](int64_t key, int64_t column, int64_t part, int64_t where) {
    const int64_t lane = static_cast<int64_t>(starts[key] & 3) + column;
    SIMD_CALL(level, fill_uniform, seeds[key], subsequences[key], starts[key] >> 2, lane, part, out + where);
  });
}
