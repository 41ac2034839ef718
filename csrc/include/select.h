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

static inline void order_two(float *a, float *b) {
  const float low = *b < *a ? *b : *a, high = *b < *a ? *a : *b;
  *a = low;
  *b = high;
}

// The median of nine columns spread over `count` of them, without a branch.
static inline float middle_of_nine(const float *x, int64_t count) {
  float s[9];
  for (int i = 0; i < 9; ++i) s[i] = x[(2 * i + 1) * count / 18];
  static const uint8_t exchange[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                          {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
#pragma GCC unroll 19
  for (int i = 0; i < 19; ++i) order_two(s + exchange[i][0], s + exchange[i][1]);
  return s[4];
}

// The last few candidates: the mass and the count at or above each of them, sixteen at a time.
static inline threshold highest_reached(const float *x, const uint32_t *w, int64_t count, threshold above, uint64_t ps,
                                        int64_t ks) {
  threshold best = above;
  uint64_t weight = 0;  // of one column equal to best.value
  bool any = false;
  for (int64_t v = 0; 16 * v < count; ++v) {
    const F16 columns = load_f(x + 16 * v);
    U16 mass = set_u(0), number = set_u(0);
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t counted = ge_f(set_f(x[i]), columns);
      mass = add_u(mass, keep_u(counted, set_u(w[i])));
      number = add_u(number, keep_u(counted, set_u(1)));
    }
    uint32_t masses[16], numbers[16];
    store_u(masses, mass);
    store_u(numbers, number);
    for (int64_t j = 0; j < 16 && 16 * v + j < count; ++j) {
      const uint64_t reached_mass = above.mass + masses[j];
      const int64_t reached_count = above.count + numbers[j];
      if ((reached_mass >= ps || reached_count >= ks) && (!any || x[16 * v + j] > best.value)) {
        any = true;
        best = {x[16 * v + j], reached_mass, reached_count, 0};
        weight = w[16 * v + j];
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) best.ties += x[i] == best.value;
  best.mass -= weight * best.ties;
  best.count -= best.ties;
  best.value += 0.0f;
  return best;
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
    int32_t key = key_of(middle_of_nine(x, found.ties));
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
  if (low < high) return highest_reached(x, w, found.ties, found, ps, ks);
  found.value = value_of(low) + 0.0f;
  return found;
}

}  // namespace SIMD_NAMESPACE
