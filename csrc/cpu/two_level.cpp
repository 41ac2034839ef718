// `two_level` (docs/spec/sampling.md, A): sums in double, order id fp64_lanes16. And the integer sampler alone.
#include "fresh_row.h"

namespace SIMD_NAMESPACE {

int64_t two_level_scratch(int64_t columns) { return scratch_bytes(columns); }

void two_level_rows(const sampling_plan &plan, const sampling_result &out, int64_t first, int64_t last, void *slab) {
  const row_scratch s = divide_scratch(slab, plan.columns);
  for (int64_t row = first; row < last; ++row) {
    if (out.status[row] == SAMPLING_OK) fresh_row<D16>(plan, out, row, s);
  }
}

// Steps A.6 to A.8 with probabilities given: tokens[row], -1 where every weight is zero.
void draw_rows(const float *probs, int64_t columns, const uint64_t *seeds, const uint64_t *subsequences,
               bool multiply_shift, int32_t *tokens, int64_t first, int64_t last, void *slab) {
  const row_scratch s = divide_scratch(slab, columns);
  for (int64_t row = first; row < last; ++row) {
    for (int64_t v = 0; v < s.vectors; ++v) {
      store_u(s.w + 16 * v, fixed31(load_some(probs + row * columns + 16 * v, columns - 16 * v, 0.0f)));
    }
    const drawn d = draw_column(s.w, 16 * s.vectors, seeds[row], subsequences[row], multiply_shift, s.lanes, nullptr, 0,
                                columns >= TILED_FROM);
    tokens[row] = static_cast<int32_t>(d.column);
  }
}

}  // namespace SIMD_NAMESPACE
