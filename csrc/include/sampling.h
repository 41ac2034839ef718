// A row of the float samplers (docs/spec/sampling.md, A): log-softmax, cut, renormalisation, weights. Only for kernels.
//
// `Lanes` is what floats are summed in: F16 (order id fp32_lanes16) or D16 (fp64_lanes16). Column c belongs to lane
// c % 16 of block c / 512. Inside a block a lane adds its columns in order, from 0; a binary tree over the block's index
// joins blocks (2k and 2k + 1 first; an absent block is 0); the tree 8, 4, 2, 1 joins lanes. A sum in double is rounded
// once, to float, at the end. Dropped columns add +0.
//
// Probabilities below exp(-87) count as 0: beside the largest (1 in S, at least 2^-31 in the kept mass) they change no
// sum, and their weight is 0. All u32 sums of weights stay below 2^32: the probabilities of a row sum to one within a per cent, whatever the order.
#pragma once

#include "draw.h"
#include "select.h"
#include "simd_math.h"

namespace SIMD_NAMESPACE {

enum : int64_t { BLOCK_VECTORS = 32 };
enum : uint32_t { ONE31 = 0x80000000u };

// Scratch of one thread for rows of `vectors` * 16 columns; every array has room for 16 more.
struct row_scratch {
  int64_t vectors;
  float *x;          // the logits, padded with -inf; after a first cut, -inf where dropped
  float *p;          // exp(lp(x))
  uint32_t *w;       // floor(p * 2^31)
  uint16_t *mask;    // kept columns
  float *some_x;     // candidates of the selection, whose weights are in w meanwhile
  uint32_t *lanes;   // TILED_LANES
};

static inline int64_t scratch_bytes(int64_t columns) {
  const int64_t room = (columns + 15) / 16 * 16 + 64;
  return room * 4 * 4 + TILED_LANES * 4 + room / 16 * 2;
}

static inline row_scratch divide_scratch(void *slab, int64_t columns) {
  const int64_t vectors = (columns + 15) / 16, room = vectors * 16 + 64;
  float *at = static_cast<float *>(slab);
  uint32_t *w = reinterpret_cast<uint32_t *>(at + 3 * room), *lanes = w + room;
  return {vectors, at, at + room, w, reinterpret_cast<uint16_t *>(lanes + TILED_LANES), at + 2 * room, lanes};
}

struct softmax {
  float inv, lse0, lse1;
};

static inline F16 logprob(const softmax &s, F16 x) { return fma_f(add_f(x, set_f(s.lse1)), set_f(s.inv), set_f(s.lse0)); }
static inline float logprob(const softmax &s, float x) { return fmaf(x + s.lse1, s.inv, s.lse0); }

static inline F16 zero_lanes(F16) { return set_f(0.0f); }
static inline D16 zero_lanes(D16) { return zero_d(); }
static inline F16 add_lanes(F16 sum, F16 term) { return add_f(sum, term); }
static inline D16 add_lanes(D16 sum, F16 term) { return add_d(sum, term); }
static inline D16 add_lanes(D16 sum, D16 term) { return add_dd(sum, term); }

template <class Lanes, class Term>
static inline float sum_columns(int64_t vectors, const Term &term) {
  Lanes level[64];  // level[k] holds a complete subtree of 2^k blocks where bit k of `block` is set
  int64_t block = 0;
  for (int64_t start = 0; start < vectors; start += BLOCK_VECTORS, ++block) {
    const int64_t end = start + BLOCK_VECTORS < vectors ? start + BLOCK_VECTORS : vectors;
    Lanes lanes = zero_lanes(Lanes{});
    for (int64_t v = start; v < end; ++v) lanes = add_lanes(lanes, term(v));
    int k = 0;
    for (; block >> k & 1; ++k) lanes = add_lanes(level[k], lanes);
    level[k] = lanes;
  }
  Lanes total = zero_lanes(Lanes{});
  for (int k = 0; block >> k; ++k) {
    if (block >> k & 1) total = add_lanes(level[k], total);
  }
  return static_cast<float>(tree_sum(total));
}

// Copies the row, marks the columns above -inf and returns the largest logit, +0 for a zero.
static inline float load_row(const float *logits, int64_t columns, const row_scratch &s) {
  const F16 bottom = set_f(-HUGE_VALF);
  F16 top = bottom;
  for (int64_t v = 0; v < s.vectors; ++v) {
    const F16 x = load_some(logits + 16 * v, columns - 16 * v, -HUGE_VALF);
    store_f(s.x + 16 * v, x);
    s.mask[v] = static_cast<uint16_t>(gt_f(x, bottom));
    top = max_f(top, x);
  }
  return greatest_f(top) + 0.0f;
}

// Step A.1. The row after this one is on its way to the cache meanwhile: `ahead` is where it would be.
template <class Lanes>
static inline softmax log_softmax(float top, float inv, const float *ahead, const row_scratch &s) {
  const F16 minus_top = set_f(-top), scale = set_f(inv);
  const float sum = sum_columns<Lanes>(s.vectors, [&](int64_t v) {
    __builtin_prefetch(ahead + 16 * v, 0, 2);
    return exp_or_zero_f(mul_f(add_f(load_f(s.x + 16 * v), minus_top), scale));
  });
  return {inv, -log_one(sum), -top};
}

// p and w of the columns in the mask, zeros elsewhere.
static inline void weigh(const softmax &soft, const row_scratch &s) {
  for (int64_t v = 0; v < s.vectors; ++v) {
    F16 p = set_f(0.0f);
    if (s.mask[v]) p = exp_or_zero_f(logprob(soft, load_f(s.x + 16 * v)));
    if (s.mask[v] != ALL16) p = keep_f(s.mask[v], p);
    store_f(s.p + 16 * v, p);
    store_u(s.w + 16 * v, fixed31(p));
  }
}

// Step A.5.
template <class Lanes>
static inline void renormalise(softmax *soft, const row_scratch &s) {
  const float mass =
      sum_columns<Lanes>(s.vectors, [&](int64_t v) { return keep_f(s.mask[v], load_f(s.p + 16 * v)); });
  soft->lse0 -= log_one(mass);
}

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
