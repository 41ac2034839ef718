// C ABI of the Philox kernels: many streams, any start, any count. docs/spec/rng.md, section 2.
#include "philox.h"
#include "simd.h"
#include "threads.h"

SIMD_DECLARE(void fill_words(uint64_t seed, uint64_t subsequence, uint64_t start, int64_t count, uint32_t *out))

// out[k * count + i] = word starts[k] + i of the stream (seeds[k], subsequences[k]). Returns 0.
SIMD_EXPORT int philox_words(int level, int threads, const uint64_t *seeds, const uint64_t *subsequences,
                             const uint64_t *starts, int64_t keys, int64_t count, uint32_t *out) {
  if (count <= 0) return 0;
  parallel_ranges(keys * count, threads, 64, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last;) {
      const int64_t key = at / count, column = at % count;
      const int64_t part = count - column < last - at ? count - column : last - at;
      SIMD_CALL(level, fill_words, seeds[key], subsequences[key], starts[key] + column, part, out + at);
      at += part;
    }
  });
  return 0;
}
