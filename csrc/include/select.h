// Step A.3 of docs/spec/sampling.md without a sort: where a walk down the distinct values first reaches an integer mass
// or a count. Only for kernels. The result is a property of the columns alone; how it is found never shows.
#pragma once

#include "vec16.h"

namespace SIMD_NAMESPACE {

struct threshold {
  float value;       // never -0
  uint64_t mass;     // of the columns above it
  int64_t count;     // of the columns above it
  int64_t ties;      // columns equal to it; meaningless where value is -inf
};

// A signed integer that orders as floats do, one key for both zeros.
static inline int32_t key_of(float x) {
  int32_t bits;
  x += 0.0f;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ (bits >> 31 & 0x7FFFFFFF);
}

static inline float value_of(int32_t key) {
  const int32_t bits = key ^ (key >> 31 & 0x7FFFFFFF);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// The sum modulo 2^32 of w over columns x >= pivot, and how many they are.
static inline uint32_t mass_from(const float *x, const uint32_t *w, int64_t vectors, float pivot, int64_t *count) {
  const F16 edge = set_f(pivot);
  U16 mass = set_u(0);
  int64_t found = 0;
  for (int64_t v = 0; v < vectors; ++v) {
    const uint32_t hit = ge_f(load_f(x + 16 * v), edge);
    mass = add_u(mass, keep_u(hit, load_u(w + 16 * v)));
    found += popcount(hit);
  }
  *count = found;
  return sum_u(mass);
}

// Moves the columns at or above (below) the pivot to to_x, to_w, which may be x, w. NaN goes nowhere; it fills the
// vector begun last. Returns how many columns moved.
static inline int64_t pack_side(const float *x, const uint32_t *w, int64_t vectors, float pivot, bool above, float *to_x,
                                uint32_t *to_w) {
  const F16 edge = set_f(pivot);
  int64_t moved = 0;
  for (int64_t v = 0; v < vectors; ++v) {
    const F16 columns = load_f(x + 16 * v);
    const U16 weights = load_u(w + 16 * v);
    const uint32_t side = above ? ge_f(columns, edge) : lt_f(columns, edge);
    pack_f(to_x + moved, columns, side);
    pack_u(to_w + moved, weights, side);
    moved += popcount(side);
  }
  for (int64_t j = moved; j & 15; ++j) to_x[j] = NAN;
  return moved;
}

// The median key of a few columns spread over `count` of them.
static inline int32_t middle_key(const float *x, int64_t count) {
  enum { SAMPLE = 15 };
  int32_t key[SAMPLE];
  for (int i = 0; i < SAMPLE; ++i) {
    const int32_t next = key_of(x[(2 * i + 1) * count / (2 * SAMPLE)]);
    int at = i;
    for (; at > 0 && key[at - 1] > next; --at) key[at] = key[at - 1];
    key[at] = next;
  }
  return key[SAMPLE / 2];
}

// The last few candidates: a plain walk downward.
static inline threshold walk(const float *x, const uint32_t *w, int64_t count, threshold above, uint64_t ps, int64_t ks) {
  int32_t ceiling = INT32_MAX;
  for (;;) {
    int32_t top = INT32_MIN;
    for (int64_t j = 0; j < count; ++j) {
      const int32_t key = key_of(x[j]);
      if (key < ceiling && key > top) top = key;
    }
    uint64_t mass = 0;
    int64_t ties = 0;
    for (int64_t j = 0; j < count; ++j) {
      if (key_of(x[j]) == top) {
        mass += w[j];
        ++ties;
      }
    }
    above.value = value_of(top);
    above.ties = ties;
    if (above.mass + mass >= ps || above.count + ties >= ks || ties == 0) return above;
    above.mass += mass;
    above.count += ties;
    ceiling = top;
  }
}

// x and w have 16 * vectors columns (padded with -inf and 0), columns with equal x have equal w, all w sum to less than
// 2^32, and the walk over all columns reaches `ps` or `ks`. to_x, to_w: scratch of the same size plus 16.
static inline threshold find_threshold(const float *x, const uint32_t *w, int64_t vectors, float top, uint64_t ps,
                                       int64_t ks, float *to_x, uint32_t *to_w) {
  enum { FEW = 16, SAMPLED_ROUNDS = 24 };
  threshold found = {0.0f, 0, 0, 16 * vectors};
  int32_t low = key_of(-HUGE_VALF), high = key_of(top);  // low <= the threshold's key <= high
  for (int round = 0; low < high && found.ties > FEW; ++round) {
    // Sampled pivots halve the candidates; after some rounds the keys are halved instead, which ends surely.
    int32_t key = middle_key(x, found.ties);
    if (round >= SAMPLED_ROUNDS) key = static_cast<int32_t>(low + (static_cast<int64_t>(high) - low + 1) / 2);
    if (key <= low) key = low + 1;
    const float pivot = value_of(key);
    int64_t count;
    const uint64_t mass = mass_from(x, w, vectors, pivot, &count);
    const bool reached = found.mass + mass >= ps || found.count + count >= ks;
    if (reached) {
      low = key;
    } else {
      high = key - 1;
      found.mass += mass;
      found.count += count;
    }
    found.ties = pack_side(x, w, vectors, pivot, reached, to_x, to_w);
    x = to_x;
    w = to_w;
    vectors = (found.ties + 15) / 16;
  }
  if (low < high) return walk(x, w, found.ties, found, ps, ks);
  found.value = value_of(low) + 0.0f;
  return found;
}

}  // namespace SIMD_NAMESPACE
