// C ABI of the elementary functions.
#include "fp_state.h"
#include "simd.h"
#include "threads.h"

SIMD_DECLARE(void exp32(const float *x, float *out, int64_t first, int64_t last))
SIMD_DECLARE(void log32(const float *x, float *out, int64_t first, int64_t last))

SIMD_EXPORT int elementary_exp32(int level, int threads, const float *x, int64_t count, float *out) {
  parallel_ranges(count, threads, 16, [&](int64_t first, int64_t last) {
    const fp_state state;
    SIMD_CALL(level, exp32, x, out, first, last);
  });
  return 0;
}

SIMD_EXPORT int elementary_log32(int level, int threads, const float *x, int64_t count, float *out) {
  parallel_ranges(count, threads, 16, [&](int64_t first, int64_t last) {
    const fp_state state;
    SIMD_CALL(level, log32, x, out, first, last);
  });
  return 0;
}
