// Steps A.3 to A.5 of docs/spec/sampling.md: top-k, top-p and min_p of one row. Only for kernels.
#pragma once

#include "sampling.h"
#include "select.h"

namespace SIMD_NAMESPACE {

struct cut_result {
  float threshold;
  int64_t sel;
};

// Keeps x > threshold and the first `sel` of those equal to it.
static inline void mark_kept(float threshold, int64_t ties, int64_t sel, const row_scratch &s) {
  const F16 edge = set_f(threshold);
  const bool bottom = threshold == -HUGE_VALF;
  const bool all_ties = sel >= ties && !bottom;
  int64_t left = bottom ? 0 : sel;
  for (int64_t v = 0; v < s.vectors; ++v) {
    const F16 x = load_f(s.x + 16 * v);
    if (all_ties) {
      s.mask[v] = static_cast<uint16_t>(ge_f(x, edge));
      continue;
    }
    const uint32_t above = gt_f(x, edge);
    uint32_t kept = above;
    for (uint32_t tied = ge_f(x, edge) & ~above; tied && left > 0; tied &= tied - 1, --left) kept |= tied & -tied;
    s.mask[v] = static_cast<uint16_t>(kept);
  }
}

// Moves the columns of the row in [from, below) to s.some_x and returns how many they are.
static inline int64_t collect(const row_scratch &s, float from, float below) {
  const F16 least = set_f(from), limit = set_f(below);
  int64_t moved = 0;
  for (int64_t v = 0; v < s.vectors; ++v) {
    const F16 x = load_f(s.x + 16 * v);
    const uint32_t inside = ge_f(x, least) & lt_f(x, limit);
    pack_f(s.some_x + moved, x, inside);
    moved += popcount(inside);
  }
  return moved;
}

// The weights of the first columns of s.some_x into s.w; returns their sum. NaN fills the vector begun last.
template <class Weigh>
static inline uint32_t weigh_candidates(const Weigh &weights_of, int64_t candidates, const row_scratch &s) {
  fill_vector(s.some_x, candidates);
  U16 sum = set_u(0);
  for (int64_t j = 0; j < candidates; j += 16) {
    const U16 w = weights_of(load_f(s.some_x + j));
    store_u(s.w + j, w);
    sum = add_u(sum, w);
  }
  return sum_u(sum);
}

// Step A.3: p = exp(lp(x)) of the row into s.p (0 where x is -inf), and the threshold, if the walk reaches `ps` or `ks`.
// One pass sums what lies above a guessed range and collects the columns inside; weights are computed again for those
// alone. Where the guess is wrong, another pass collects the right side of it.
static inline bool find_cut(const softmax &soft, int64_t columns, uint64_t ps, int64_t ks, const row_scratch &s,
                            threshold *found) {
  const auto weights_of = [&](F16 x) { return fixed31(exp_or_zero_f(logprob(soft, x))); };
  search range = guess_range(s.x, s.vectors, ps, ks, weights_of);
  const F16 least = set_f(range.from), limit = set_f(range.below);
  U16 total = set_u(0), mass = total;
  int64_t candidates = 0;
  for (int64_t v = 0; v < s.vectors; ++v) {
    const F16 x = load_f(s.x + 16 * v), p = exp_or_zero_f(logprob(soft, x));
    const U16 w = fixed31(p);
    store_f(s.p + 16 * v, p);
    total = add_u(total, w);
    mass = add_u(mass, keep_ge_u(x, limit, w));
    const uint32_t above = ge_f(x, limit), inside = ge_f(x, least) & ~above;
    pack_f(s.some_x + candidates, x, inside);
    candidates += popcount(inside);
    range.count += popcount(above);
  }
  range.mass = sum_u(mass);
  if (sum_u(total) < ps && columns < ks) return false;
  if (range.mass >= ps || range.count >= ks) {
    range = {range.below, HUGE_VALF, 0, 0};
    candidates = collect(s, range.from, range.below);
  }
  const uint64_t inside = weigh_candidates(weights_of, candidates, s);
  if (range.mass + inside < ps && range.count + candidates < ks) {
    range = {-HUGE_VALF, range.from, range.mass + inside, range.count + candidates};
    candidates = collect(s, range.from, range.below);
    weigh_candidates(weights_of, candidates, s);
  }
  *found = find_threshold(s.some_x, s.w, candidates, range, ps, ks);
  return true;
}

// Steps A.3 and A.4 on s.x; writes s.mask and s.p.
static inline cut_result cut(const softmax &soft, int64_t columns, uint64_t ps, int64_t ks, bool top_p_on,
                             const row_scratch &s) {
  threshold t;
  if (!find_cut(soft, columns, ps, ks, s, &t)) {
    mark_kept(-HUGE_VALF, 0, 0, s);
    return {-HUGE_VALF, columns};
  }
  int64_t sel = ks - t.count < columns ? ks - t.count : columns;
  if (top_p_on) {
    const float at = exp_one(logprob(soft, t.value));
    const float share = static_cast<float>(ps - t.mass) / 0x1p31f / at, most = static_cast<float>(columns);
    const int64_t by_mass = at > 0 ? static_cast<int64_t>(ceilf(share < most ? share : most)) : 0;
    sel = by_mass < sel ? by_mass : sel;
  }
  mark_kept(t.value, t.ties, sel, s);
  return {t.value, sel};
}

// min_p: of the kept columns those stay with (w << 31) >= min_p31 * the largest w.
static inline void drop_light(uint32_t min_p31, const row_scratch &s) {
  U16 most = set_u(0);
  for (int64_t v = 0; v < s.vectors; ++v) most = max_u(most, fixed31(load_f(s.p + 16 * v)));
  const uint64_t bound = static_cast<uint64_t>(min_p31) * greatest_u(most);
  const U16 least = set_u(static_cast<uint32_t>((bound + ONE31 - 1) >> 31));
  for (int64_t v = 0; v < s.vectors; ++v) {
    s.mask[v] &= static_cast<uint16_t>(ge_u(fixed31(load_f(s.p + 16 * v)), least));
  }
}

// Steps A.3 to A.5 with both filters at once, or top-k and its renormalisation first; updates *soft.
template <class Lanes>
static inline cut_result filter(const sampling_plan &plan, int64_t row, softmax *soft, const row_scratch &s) {
  int64_t ks = plan.ks[row];
  const bool top_p_on = plan.top_p[row] < 1;
  if (plan.top_k_first && top_p_on && ks <= plan.columns) {
    cut(*soft, plan.columns, ONE31, ks, false, s);
    renormalise<Lanes>(soft, s);
    const F16 bottom = set_f(-HUGE_VALF);
    for (int64_t v = 0; v < s.vectors; ++v) store_f(s.x + 16 * v, choose_f(s.mask[v], load_f(s.x + 16 * v), bottom));
    ks = plan.columns + 1;
  }
  const cut_result result = cut(*soft, plan.columns, plan.ps[row], ks, top_p_on, s);
  if (plan.min_p31) drop_light(plan.min_p31, s);
  renormalise<Lanes>(soft, s);
  return result;
}

}  // namespace SIMD_NAMESPACE
