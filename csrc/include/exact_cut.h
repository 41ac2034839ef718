// Where top-k and top-p end among integer weights, without a sort: integers do not care in which order they are added.
#pragma once

#include <algorithm>

#include "exact_lanes.h"

namespace SIMD_NAMESPACE {

// A walk down the weights ends at `weight`: `mass` and `count` lie above it, `ties` columns have exactly it.
struct boundary {
  uint64_t weight, mass;
  int64_t count, ties;
};

// The walk ends where its mass exceeds `mass` or its columns reach `count`.
struct goal {
  uint64_t mass;
  int64_t count;
  bool reached(uint64_t walked_mass, int64_t walked) const { return walked_mass > mass || walked >= count; }
};

// How many of the boundary's ties the walk takes before it ends.
static inline uint64_t ties_taken(const boundary &at, const goal &end) {
  const uint64_t by_mass = (end.mass - at.mass) / at.weight + 1, by_count = static_cast<uint64_t>(end.count - at.count);
  return std::min({by_mass, by_count, static_cast<uint64_t>(at.ties)});
}

// Weights low <= w <= high.
struct range {
  uint64_t low, high;
};

// The `columns` weights at `from` are those in `within`, `total` their sum; the walk ends among them, and `mass` and
// `count` lie above them. Zeros fill up to whole vectors.
struct candidates {
  const uint64_t *from;
  int64_t columns;
  range within;
  uint64_t total, mass;
  int64_t count;
};

enum { FEW = 32, MARGIN = 3, GUESSES = 16 };

// sorted = the FEW values in descending order. Ranks, not swaps: nothing for a branch predictor to miss.
static inline void sort_few(const uint64_t *value, uint64_t *sorted) {
  uint64_t key[FEW];
  for (int i = 0; i < FEW; ++i) key[i] = value[i] * FEW + i;
  for (int i = 0; i < FEW; ++i) {
    int rank = 0;
    for (int j = 0; j < FEW; j += W) rank += count(less(all(key[i]), load(key + j)));
    sorted[rank] = value[i];
  }
}

// A range in which the walk is likely to end. An even sample speaks for all: for the count from above, for the mass from
// below, where weights are many and small. A margin of 0 makes a range of one value, which always brings the end nearer.
static inline range guess(const candidates &c, const goal &end, int margin) {
  uint64_t sample[FEW], sorted[FEW];
  for (int i = 0; i < FEW; ++i) sample[i] = c.from[i * c.columns / FEW];
  sort_few(sample, sorted);
  const uint64_t share = static_cast<uint64_t>(c.columns / FEW);
  int place = FEW - 1;
  if (c.mass + c.total > end.mass) {
    uint64_t tail = c.mass + c.total - end.mass;
    for (; place > 0 && sorted[place] * share < tail; --place) tail -= sorted[place] * share;
  }
  place = static_cast<int>(std::min<int64_t>(place, (end.count - c.count) * FEW / c.columns));
  return {sorted[std::min(place + margin, FEW - 1)], sorted[std::max(place - margin, 0)]};
}

// The candidates among `c` that lie in `within`, put at `to`, which has room for c.columns + 2 * W.
static inline candidates pack(const candidates &c, range within, uint64_t *to) {
  const lanes high = all(within.high), low = all(within.low);
  lanes above = all(0), inside = all(0);
  int64_t count_above = 0;
  uint64_t *end = to;
  for (int64_t i = 0; i < c.columns; i += W) {
    const lanes v = load(c.from + i);
    const lane_mask is_above = less(high, v);
    above = add(above, zero_unless(is_above, v));
    count_above += count(is_above);
    end = append(end, neither(is_above, less(v, low)), v);
  }
  store(end, all(0));
  for (const uint64_t *at = to; at < end; at += W) inside = add(inside, load(at));
  return {to, end - to, within, sum(inside), c.mass + sum(above), c.count + count_above};
}

// The walk over the last few candidates, one value after another.
static inline boundary walk(const candidates &c, const goal &end) {
  uint64_t value[FEW] = {}, sorted[FEW + 1] = {};
  std::copy(c.from, c.from + c.columns, value);
  sort_few(value, sorted);
  boundary at = {0, c.mass, c.count, 0};
  for (int i = 0;; i += static_cast<int>(at.ties)) {
    at.weight = sorted[i];
    at.ties = 1;
    while (sorted[i + at.ties] == at.weight && at.weight) ++at.ties;
    const uint64_t mass = at.mass + at.weight * static_cast<uint64_t>(at.ties);
    if (end.reached(mass, at.count + at.ties) || !at.weight) return at;
    at.mass = mass;
    at.count += at.ties;
  }
}

// Finds where the walk ends among `c`; it does end above zero. `space` and `other` have room for c.columns + 2 * W each.
static inline boundary find_boundary(candidates c, const goal &end, uint64_t *space, uint64_t *other) {
  for (int round = 0; c.columns > FEW; ++round) {
    const range known = c.within;
    if (known.low == known.high) return {known.low, c.mass, c.count, c.columns};
    // Sampled ranges shrink fast; after some rounds the range is halved instead, which ends surely.
    range next = {known.low + (known.high - known.low) / 2 + 1, known.high};
    if (round < GUESSES) next = guess(c, end, round % 2 ? 0 : MARGIN);
    next.low = std::max(next.low, known.low);
    next.high = std::max(next.high, next.low);
    candidates in = pack(c, next, space);
    if (end.reached(in.mass, in.count)) {
      in = pack(c, {next.high + 1, known.high}, space);
    } else if (!end.reached(in.mass + in.total, in.count + in.columns)) {
      in = pack(c, {known.low, next.low - 1}, space);
    }
    c = in;
    std::swap(space, other);
  }
  return walk(c, end);
}

}  // namespace SIMD_NAMESPACE
