// `fused_sample` (docs/spec/sampling.md, C): `two_level` with sums in float (order id fp32_lanes16), and verification.
#include "fresh_row.h"

namespace SIMD_NAMESPACE {

int64_t fused_sample_scratch(int64_t columns) { return scratch_bytes(columns); }

static const float DRAFT_PENALTY = 5e-5f;

// Purpose 2: one uniform below exp(min(target - draft, 0)). A cut draft token (-inf) is refused whatever the word.
static bool accepted(const sampling_plan &plan, const sampling_result &out, int64_t row, float target, float draft) {
  const uint32_t word = philox_word(plan.seeds[row], plan.subsequences[row] + SAMPLING_ACCEPT, 0);
  out.accept_word[row] = word;
  if (target == -HUGE_VALF) return false;
  const float ratio = target - draft;
  return philox_uniform(word) < exp_one(ratio < 0.0f ? ratio : 0.0f);
}

// Replaces s.w by floor(max(p - exp(dl - 5e-5), 0) * 2^31) and returns the sum modulo 2^32.
static uint32_t residual(const sampling_plan &plan, int64_t row, const row_scratch &s) {
  const float *draft = plan.draft_logprobs + row * plan.columns;
  const F16 zero = set_f(0.0f), penalty = set_f(DRAFT_PENALTY);
  U16 sum = set_u(0);
  for (int64_t v = 0; v < s.vectors; ++v) {
    const F16 dl = load_some(draft + 16 * v, plan.columns - 16 * v, 0.0f);
    const F16 more = max_f(sub_f(load_f(s.p + 16 * v), exp_f(sub_f(dl, penalty))), zero);
    const U16 w = fixed31(more);
    store_u(s.w + 16 * v, w);
    sum = add_u(sum, w);
  }
  return sum_u(sum);
}

static float accept_probability(uint32_t residual_sum) {
  const float left = 1.0f - static_cast<float>(residual_sum) / 0x1p31f;
  return left > 0.0f ? left : 0.0f;
}

static void verify_greedy(const sampling_plan &plan, const sampling_result &out, int64_t row, const row_scratch &s) {
  greedy_row(plan, out, row);
  const int32_t token = out.tokens[row];
  out.accept[row] = plan.draft_ids[row] == token;
  for (int64_t c = 0; c < 16 * s.vectors; ++c) s.p[c] = c == token ? 1.0f : 0.0f;
  out.accept_prob[row] = accept_probability(residual(plan, row, s));
}

static void verify_row(const sampling_plan &plan, const sampling_result &out, int64_t row, const row_scratch &s) {
  const int32_t draft = plan.draft_ids[row];
  const softmax soft = distribution<F16>(plan, out, row, s);
  bool taken = false;
  if (draft >= 0) {
    const bool kept = s.mask[draft / 16] >> draft % 16 & 1;
    const float target = kept ? logprob(soft, s.x[draft]) : -HUGE_VALF;
    taken = accepted(plan, out, row, target, out.draft_logprob[row]);
  }
  out.accept[row] = taken;
  out.accept_prob[row] = accept_probability(residual(plan, row, s));
  if (taken) {
    out.tokens[row] = draft;
    return;
  }
  out.purpose[row] = SAMPLING_RESIDUAL;
  out.subsequences[row] += SAMPLING_RESIDUAL;
  const int64_t start = row * plan.columns;
  if (out.weights) memcpy(static_cast<uint32_t *>(out.weights) + start, s.w, plan.columns * sizeof *s.w);
  if (!draw_row(plan, out, row, SAMPLING_RESIDUAL, s)) {
    out.tokens[row] = static_cast<int32_t>(first_greatest(plan.logits + start, plan.columns));
  }
}

void fused_sample_rows(const sampling_plan &plan, const sampling_result &out, int64_t first, int64_t last, void *slab) {
  const row_scratch s = divide_scratch(slab, plan.columns);
  for (int64_t row = first; row < last; ++row) {
    if (out.status[row] != SAMPLING_OK) continue;
    if (plan.is_verify) {
      const int32_t draft = plan.draft_ids[row];
      out.draft_logprob[row] = draft >= 0 ? plan.draft_logprobs[row * plan.columns + draft] : -HUGE_VALF;
      if (plan.is_verify[row]) {
        plan.greedy[row] ? verify_greedy(plan, out, row, s) : verify_row(plan, out, row, s);
        continue;
      }
      out.accept[row] = 1;
      out.accept_prob[row] = 1.0f;
    }
    fresh_row<F16>(plan, out, row, s);
  }
}

}  // namespace SIMD_NAMESPACE
