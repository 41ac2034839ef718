// C ABI of `fused_sample`.
#include "row_ranges.h"
#include "sampling_abi.h"
#include "simd.h"

SIMD_DECLARE(int64_t fused_sample_scratch(int64_t columns))
SIMD_DECLARE(void fused_sample_rows(const sampling_plan &plan, const sampling_result &out, int64_t first, int64_t last,
                                    void *slab))

SIMD_EXPORT int fused_sample_run(int level, int threads, const sampling_plan *plan, const sampling_result *out) {
  return row_ranges(plan->rows, threads, SIMD_CALL(level, fused_sample_scratch, plan->columns),
                    [&](int64_t first, int64_t last, void *slab) {
                      SIMD_CALL(level, fused_sample_rows, *plan, *out, first, last, slab);
                    });
}
