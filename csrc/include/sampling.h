// A row of the float samplers (docs/spec/sampling.md, A): its scratch, log-softmax, weights, sums. Only for kernels.
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

}  // namespace SIMD_NAMESPACE
