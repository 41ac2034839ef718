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

enum { PIVOTS = 3 };

// NaN from `count` to the end of the vector begun last.
static inline void fill_vector(float *x, int64_t count) {
  for (; count & 15; ++count) x[count] = NAN;
}

// For each pivot the sum modulo 2^32 of w over columns x >= pivot, and how many they are.
static inline void mass_from(const float *x, const uint32_t *w, int64_t vectors, const float *pivot, uint32_t *mass,
                             int64_t *count) {
  F16 edge[PIVOTS];
  U16 sum[PIVOTS];
  int64_t found[PIVOTS] = {0, 0, 0};
  for (int i = 0; i < PIVOTS; ++i) edge[i] = set_f(pivot[i]), sum[i] = set_u(0);
  for (int64_t v = 0; v < vectors; ++v) {
    const F16 columns = load_f(x + 16 * v);
    const U16 weights = load_u(w + 16 * v);
    for (int i = 0; i < PIVOTS; ++i) {
      sum[i] = add_u(sum[i], keep_ge_u(columns, edge[i], weights));
      found[i] += popcount(ge_f(columns, edge[i]));
    }
  }
  for (int i = 0; i < PIVOTS; ++i) mass[i] = sum_u(sum[i]), count[i] = found[i];
}

// Moves the columns in [from, below) to the front of x, w. NaN goes nowhere; it fills the vector begun last. Returns how
// many columns stay.
static inline int64_t pack_range(float *x, uint32_t *w, int64_t vectors, float from, float below) {
  const F16 least = set_f(from), limit = set_f(below);
  int64_t moved = 0;
  for (int64_t v = 0; v < vectors; ++v) {
    const F16 columns = load_f(x + 16 * v);
    const U16 weights = load_u(w + 16 * v);
    const uint32_t inside = ge_f(columns, least) & lt_f(columns, limit);
    pack_f(x + moved, columns, inside);
    pack_u(w + moved, weights, inside);
    moved += popcount(inside);
  }
  fill_vector(x, moved);
  return moved;
}

// Quartiles, about, of `count` columns: of nine spread over them, sorted without a branch.
static inline void quartiles(const float *x, int64_t count, float *pivot) {
  static const uint8_t exchange[25][2] = {{0, 3}, {1, 7}, {2, 5}, {4, 8}, {0, 7}, {2, 4}, {3, 8}, {5, 6}, {0, 2},
                                          {1, 3}, {4, 5}, {7, 8}, {1, 4}, {3, 6}, {5, 7}, {0, 1}, {2, 4}, {3, 5},
                                          {6, 8}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}};
  float s[9];
  for (int i = 0; i < 9; ++i) s[i] = x[(2 * i + 1) * count / 18];
#pragma GCC unroll 25
  for (int i = 0; i < 25; ++i) {
    float *a = s + exchange[i][0], *b = s + exchange[i][1];
    const float low = *b < *a ? *b : *a, high = *b < *a ? *a : *b;
    *a = low;
    *b = high;
  }
  for (int i = 0; i < PIVOTS; ++i) pivot[i] = s[2 * i + 2];
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
      mass = add_u(mass, keep_ge_u(set_f(x[i]), columns, set_u(w[i])));
      number = add_u(number, keep_ge_u(set_f(x[i]), columns, set_u(1)));
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

// Where to look for the threshold, and what lies above: a part of a walk downward.
struct search {
  float from, below;  // the threshold is in [from, below)
  uint64_t mass;      // of the columns at or above `below`
  int64_t count;      // of the columns at or above `below`
};

// x and w are the `candidates` columns in [s.from, s.below), each vector begun filled up with NaN; columns with equal x
// have equal w, all w sum to less than 2^32, and the walk over all candidates reaches `ps` or `ks`. Overwrites x, w.
static inline threshold find_threshold(float *x, uint32_t *w, int64_t candidates, const search &s, uint64_t ps, int64_t ks) {
  enum { FEW = 16, SAMPLED_ROUNDS = 16 };
  threshold found = {0.0f, s.mass, s.count, candidates};
  int32_t low = key_of(s.from), high = key_of(s.below) - 1;  // low <= the threshold's key <= high
  for (int round = 0; low < high && found.ties > FEW; ++round) {
    // Sampled pivots quarter the candidates; after some rounds the keys are halved instead, which ends surely.
    const int64_t vectors = (found.ties + 15) / 16;
    float pivot[PIVOTS];
    quartiles(x, found.ties, pivot);
    int32_t key[PIVOTS];
    for (int i = 0; i < PIVOTS; ++i) {
      key[i] = key_of(pivot[i]);
      if (round >= SAMPLED_ROUNDS) key[i] = static_cast<int32_t>(low + (static_cast<int64_t>(high) - low + 1) / 2);
      if (key[i] <= low) key[i] = low + 1;
      pivot[i] = value_of(key[i]);
    }
    uint32_t mass[PIVOTS];
    int64_t count[PIVOTS];
    mass_from(x, w, vectors, pivot, mass, count);
    const threshold above = found;
    for (int i = PIVOTS - 1; i >= 0; --i) {
      if (above.mass + mass[i] >= ps || above.count + count[i] >= ks) {
        low = key[i];
        break;
      }
      high = key[i] - 1;
      found.mass = above.mass + mass[i];
      found.count = above.count + count[i];
    }
    found.ties = pack_range(x, w, vectors, value_of(low), value_of(high + 1));
  }
  if (low < high) return highest_reached(x, w, found.ties, found, ps, ks);
  found.value = value_of(low) + 0.0f;
  return found;
}

// A guess of [from, below) for a whole row of 16 * vectors columns: 32 columns spread over it stand for all, and what
// lies below the threshold is estimated rather than what lies above, since no single column dominates it.
template <class Weigh>
static inline search guess_range(const float *x, int64_t vectors, uint64_t ps, int64_t ks, const Weigh &weights_of) {
  enum { SAMPLE = 32, MARGIN = 3 };
  search guess = {-HUGE_VALF, HUGE_VALF, 0, 0};
  if (vectors < 2 * SAMPLE / 16) return guess;
  float column[SAMPLE];
  uint32_t w[SAMPLE], at_or_above[SAMPLE], rank[SAMPLE];
  uint64_t total = 0;
  for (int i = 0; i < SAMPLE; ++i) column[i] = x[(2 * i + 1) * vectors * 16 / (2 * SAMPLE)];
  for (int i = 0; i < SAMPLE; i += 16) store_u(w + i, weights_of(load_f(column + i)));
  for (int i = 0; i < SAMPLE; ++i) total += w[i];
  for (int j = 0; j < SAMPLE; j += 16) {
    const F16 columns = load_f(column + j);
    U16 mass = set_u(0), number = set_u(0);
    for (int i = 0; i < SAMPLE; ++i) {
      mass = add_u(mass, keep_ge_u(set_f(column[i]), columns, set_u(w[i])));
      number = add_u(number, keep_ge_u(set_f(column[i]), columns, set_u(1)));
    }
    store_u(at_or_above + j, mass);
    store_u(rank + j, number);
  }
  const uint64_t stands_for = vectors * 16 / SAMPLE;
  int64_t place = SAMPLE + 1;
  for (int j = 0; j < SAMPLE; ++j) {
    const bool by_mass = (total - at_or_above[j]) * stands_for <= (uint64_t{1} << 31) - ps;
    const bool by_count = static_cast<int64_t>(rank[j] * stands_for) >= ks;
    if ((by_mass || by_count) && rank[j] < place) place = rank[j];
  }
  for (int j = 0; j < SAMPLE; ++j) {
    if (rank[j] >= place + MARGIN && column[j] > guess.from) guess.from = column[j];
    if (rank[j] <= place - MARGIN && column[j] < guess.below) guess.below = column[j];
  }
  return guess;
}

}  // namespace SIMD_NAMESPACE
