// C ABI of `two_level` and of the integer sampler alone.
#include "row_ranges.h"
#include "sampling_abi.h"
#include "simd.h"

SIMD_DECLARE(int64_t two_level_scratch(int64_t columns))
SIMD_DECLARE(void two_level_rows(const sampling_plan &plan, const sampling_result &out, int64_t first, int64_t last,
                                 void *slab))
SIMD_DECLARE(void draw_rows(const float *probs, int64_t columns, const uint64_t *seeds, const uint64_t *subsequences,
                            bool multiply_shift, int32_t *tokens, int64_t first, int64_t last, void *slab))

SIMD_EXPORT int two_level_run(int level, int threads, const sampling_plan *plan, const sampling_result *out) {
  return row_ranges(plan->rows, threads, SIMD_CALL(level, two_level_scratch, plan->columns),
                    [&](int64_t first, int64_t last, void *slab) {
                      SIMD_CALL(level, two_level_rows, *plan, *out, first, last, slab);
                    });
}

// tokens[row] drawn from probs[row * columns ..] by the weights floor(p * 2^31), which sum to 1 .. 2^32 - 1.
SIMD_EXPORT int two_level_draw(int level, int threads, const float *probs, int64_t rows, int64_t columns,
                               const uint64_t *seeds, const uint64_t *subsequences, int multiply_shift, int32_t *tokens) {
  return row_ranges(rows, threads, SIMD_CALL(level, two_level_scratch, columns),
                    [&](int64_t first, int64_t last, void *slab) {
                      SIMD_CALL(level, draw_rows, probs, columns, seeds, subsequences, multiply_shift != 0, tokens, first,
                                last, slab);
                    });
}
