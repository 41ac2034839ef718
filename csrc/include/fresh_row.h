// A whole row without a draft: its distribution, its draw, and what of them goes into the result. Only for kernels.
#pragma once

#include "cut.h"

namespace SIMD_NAMESPACE {

static inline int64_t first_greatest(const float *logits, int64_t columns) {
  int64_t best = 0;
  for (int64_t c = 1; c < columns; ++c) {
    if (logits[c] > logits[best]) best = c;
  }
  return best;
}

// Writes log-probabilities, kept columns and weights where the result holds them.
static inline void write_columns(const sampling_plan &plan, const sampling_result &out, int64_t row, const softmax &soft,
                                 const row_scratch &s) {
  if (!out.logprobs) return;
  const int64_t start = row * plan.columns;
  const F16 bottom = set_f(-HUGE_VALF);
  for (int64_t v = 0; v < s.vectors; ++v) {
    const int64_t at = start + 16 * v, count = plan.columns - 16 * v;
    float lp[16];
    uint8_t kept[16];
    store_f(lp, choose_f(s.mask[v], logprob(soft, load_f(s.x + 16 * v)), bottom));
    bytes_of(s.mask[v], kept);
    store_some(out.logprobs + at, lp, count);
    store_some(out.kept + at, kept, count);
    store_some(static_cast<uint32_t *>(out.weights) + at, s.w + 16 * v, count);
  }
}

// Steps A.1 to A.6: leaves p, w and mask of the processed distribution in `s` and notes it in `out`.
template <class Lanes>
static inline softmax distribution(const sampling_plan &plan, const sampling_result &out, int64_t row,
                                   const row_scratch &s) {
  const float *logits = plan.logits + row * plan.columns;
  const float top = load_row(logits, plan.columns, s);
  softmax soft = log_softmax<Lanes>(top, plan.inv_temperature[row], logits + (row + 1 < plan.rows ? plan.columns : 0), s);
  out.lse[2 * row] = soft.lse0;
  out.lse[2 * row + 1] = soft.lse1;
  cut_result cut = {-HUGE_VALF, plan.columns};
  if (plan.cut[row]) cut = filter<Lanes>(plan, row, &soft, s);
  weigh(soft, s);
  out.lse0[row] = soft.lse0;
  out.threshold[row] = cut.threshold;
  out.sel[row] = cut.sel;
  write_columns(plan, out, row, soft, s);
  return soft;
}

// Draws from s.w with the row's stream of `purpose` and notes the draw; false when every weight is zero.
static inline bool draw_row(const sampling_plan &plan, const sampling_result &out, int64_t row, int purpose,
                            const row_scratch &s) {
  uint32_t *words = out.words + row * plan.max_words;
  const drawn d = draw_column(s.w, 16 * s.vectors, plan.seeds[row], plan.subsequences[row] + purpose,
                              plan.multiply_shift, s.lanes, words, plan.max_words, plan.columns >= TILED_FROM);
  if (d.column < 0) return false;
  out.tokens[row] = static_cast<int32_t>(d.column);
  out.total[row] = d.total;
  out.limit[row] = d.limit;
  out.residue[row] = d.residue;
  out.word_count[row] = d.words;
  return true;
}

// A greedy row: all weight on the first largest column, no word drawn.
static inline void greedy_row(const sampling_plan &plan, const sampling_result &out, int64_t row) {
  const int64_t start = row * plan.columns, token = first_greatest(plan.logits + start, plan.columns);
  out.tokens[row] = static_cast<int32_t>(token);
  out.total[row] = ONE31;
  if (!out.logprobs) return;
  for (int64_t c = 0; c < plan.columns; ++c) out.logprobs[start + c] = -HUGE_VALF;
  out.logprobs[start + token] = 0.0f;
  out.kept[start + token] = 1;
  static_cast<uint32_t *>(out.weights)[start + token] = ONE31;
}

template <class Lanes>
static inline void fresh_row(const sampling_plan &plan, const sampling_result &out, int64_t row, const row_scratch &s) {
  if (plan.greedy[row]) {
    greedy_row(plan, out, row);
    return;
  }
  distribution<Lanes>(plan, out, row, s);
  if (!draw_row(plan, out, row, SAMPLING_FRESH, s)) out.status[row] = SAMPLING_ZERO_TOTAL;
}

}  // namespace SIMD_NAMESPACE
