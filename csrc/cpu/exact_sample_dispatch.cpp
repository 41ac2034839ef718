// C ABI of `exact_sample`: rows are split over threads, nothing else. docs/spec/sampling.md, D.
#include "exact_sample.h"
#include "row_ranges.h"
#include "simd.h"

SIMD_DECLARE(int64_t exact_sample_scratch(int64_t columns))
SIMD_DECLARE(void exact_sample_rows(const sampling_plan &plan, const exact_inputs &inputs, int64_t first, int64_t last,
                                    void *slab, const sampling_result &out))

// Fills `out` for the rows whose status is OK; scale, share and draft_weight are those of exact_inputs.
SIMD_EXPORT int exact_sample_run(int level, int threads, const sampling_plan *plan, const sampling_result *out,
                                 const float *scale, const uint64_t *share, uint64_t *draft_weight) {
  const exact_inputs inputs = {scale, share, draft_weight};
  return row_ranges(plan->rows, threads, SIMD_CALL(level, exact_sample_scratch, plan->columns),
                    [&](int64_t first, int64_t last, void *slab) {
                      SIMD_CALL(level, exact_sample_rows, *plan, inputs, first, last, slab, *out);
                    });
}
