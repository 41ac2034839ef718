// `exact_sample`, row by row: docs/spec/sampling.md, D. One source for every SIMD level.
#include <algorithm>
#include <cmath>

#include "exact_cut.h"
#include "exact_lanes.h"
#include "exact_sample.h"
#include "exact_weights.h"
#include "philox.h"
#include "simd.h"

namespace SIMD_NAMESPACE {

enum { BLOCK = 64, WORDS = 2 };

struct tie {
  float logit;
  int32_t column;
};

// One thread's buffers, cut from a slab. `w` has whole blocks, filled up with zeros.
struct scratch {
  int64_t blocks;
  uint64_t *w, *sums, *space, *other;
  tie *ties;
};

static inline int64_t blocks_of(int64_t columns) { return (columns + BLOCK - 1) / BLOCK; }

static inline scratch carve(void *slab, int64_t columns) {
  const int64_t blocks = blocks_of(columns), padded = blocks * BLOCK;
  uint64_t *w = static_cast<uint64_t *>(slab);
  uint64_t *space = w + padded, *other = space + padded + 2 * W, *sums = other + padded + 2 * W;
  return {blocks, w, sums, space, other, reinterpret_cast<tie *>(sums + blocks)};
}

// C_1 - t * (C_2 - t * (C_3 - ...)) for SIDE vectors: their chains run side by side, each alone would be all waiting.
template <int N>
static inline void alternating(const lanes (&t)[SIDE], const uint32_t (&terms)[N], lanes (&value)[SIDE]) {
  for (int k = 0; k < SIDE; ++k) value[k] = all(terms[N - 1]);
  for (int term = N - 2; term >= 0; --term) {
    for (int k = 0; k < SIDE; ++k) value[k] = subtract(all(terms[term]), right<32>(product(t[k], value[k])));
  }
}

// Writes the weights of SIDE * W logits and returns their sums.
static inline lanes weigh_some(const float *x, float top, float c, uint64_t *w) {
  lanes q[SIDE], t[SIDE], value[SIDE], total = all(0);
  for (int k = 0; k < SIDE; ++k) {
    q[k] = quantised(x + k * W, top, c);
    t[k] = left<32 - EXACT_FRACTION>(q[k]);
  }
  alternating(t, EXACT_POWER, value);
  for (int k = 0; k < SIDE; ++k) {
    const lanes p = subtract(all(1ull << 31), right<33>(product(t[k], value[k])));
    const lanes shifted = right_by(left<EXACT_SHIFT - 31>(p), right<EXACT_FRACTION>(q[k]));
    const lanes weight = zero_unless(less(q[k], all(uint64_t{EXACT_SHIFT} << EXACT_FRACTION)), shifted);
    store(w + k * W, weight);
    total = add(total, weight);
  }
  return total;
}

// Steps 1 and 2. Fills weights and block sums and returns the sum of all.
static uint64_t weigh(const float *x, int64_t n, float top, float c, const scratch &s) {
  uint64_t total = 0;
  for (int64_t block = 0; block < s.blocks; ++block) {
    const float *from = x + block * BLOCK;
    float padded[BLOCK];
    if ((block + 1) * BLOCK > n) {
      std::fill(std::copy(from, x + n, padded), padded + BLOCK, -INFINITY);
      from = padded;
    }
    lanes part = all(0);
    for (int i = 0; i < BLOCK; i += SIDE * W) part = add(part, weigh_some(from + i, top, c, s.w + block * BLOCK + i));
    total += s.sums[block] = sum(part);
  }
  return total;
}

// Zeroes weights below `least`, sums the blocks anew, and lists the columns that have exactly `least`: returns how many.
static int64_t drop_below(const float *x, uint64_t least, const scratch &s) {
  const lanes limit = all(least);
  int64_t found = 0;
  for (int64_t block = 0; block < s.blocks; ++block) {
    lanes part = all(0);
    for (int64_t at = block * BLOCK; at < (block + 1) * BLOCK; at += W) {
      const lanes v = load(s.w + at);
      const lanes stays = subtract(v, zero_unless(less(v, limit), v));
      store(s.w + at, stays);
      part = add(part, stays);
      if (!count(equal(v, limit))) continue;
      for (int64_t i = at; i < at + W; ++i) {
        if (s.w[i] == least) s.ties[found++] = {x[i] + 0.0f, static_cast<int32_t>(i)};  // one zero
      }
    }
    s.sums[block] = sum(part);
  }
  return found;
}

// The smallest weight that is at least `least`, which one is.
static uint64_t smallest_from(uint64_t least, const scratch &s) {
  uint64_t found = EXACT_ONE;
  for (int64_t i = 0; i < s.blocks * BLOCK; ++i) found = s.w[i] >= least && s.w[i] < found ? s.w[i] : found;
  return found;
}

static int64_t positive(const scratch &s) {
  int64_t found = 0;
  for (int64_t i = 0; i < s.blocks * BLOCK; i += W) found += count(less(all(0), load(s.w + i)));
  return found;
}

// Step 3: zeroes every weight that is not kept, and notes the lowest kept logit and how many columns keep it.
static void cut(const sampling_plan &plan, int64_t row, uint64_t share, uint64_t total, const scratch &s,
                const sampling_result &out) {
  const float *x = plan.logits + row * plan.columns;
  goal end = {UINT64_MAX, plan.ks[row]};
  const bool by_count = end.count <= plan.columns && end.count < positive(s), by_mass = share < 1ull << 32;
  const candidates every = {s.w, s.blocks * BLOCK, {1, EXACT_ONE}, total, 0, 0};
  if (by_mass) {
    if (plan.top_k_first && by_count) {
      const boundary first = find_boundary(every, end, s.space, s.other);
      total = first.mass + first.weight * ties_taken(first, end);
    }
    end.mass = exact_high64(total, share << 32);
  }
  uint64_t least = std::max<uint64_t>(static_cast<uint64_t>(plan.min_p31) << (EXACT_SHIFT - 31), 1);
  uint64_t taken = UINT64_MAX;
  if (by_mass || by_count) {
    const boundary last = find_boundary(every, end, s.space, s.other);
    if (last.weight >= least) {
      least = last.weight;
      taken = ties_taken(last, end);
    }
  }
  if (taken == UINT64_MAX) least = smallest_from(least, s);
  tie *const ties_end = s.ties + drop_below(x, least, s);
  tie *const kept_end = static_cast<uint64_t>(ties_end - s.ties) > taken ? s.ties + taken : ties_end;
  std::nth_element(s.ties, kept_end - 1, ties_end, [](const tie &a, const tie &b) {
    return a.logit > b.logit || (a.logit == b.logit && a.column < b.column);
  });
  for (const tie *dropped = kept_end; dropped < ties_end; ++dropped) {
    s.w[dropped->column] = 0;
    s.sums[dropped->column / BLOCK] -= least;
  }
  const float lowest = kept_end[-1].logit;
  out.threshold[row] = lowest;
  out.sel[row] = std::count_if(s.ties, kept_end, [=](const tie &t) { return t.logit == lowest; });
}

// Step 4: notes total, words, residue and token.
static void draw(const sampling_plan &plan, int64_t row, const scratch &s, const sampling_result &out) {
  uint64_t total = 0;
  for (int64_t block = 0; block < s.blocks; ++block) total += s.sums[block];
  const philox_block words = philox_stream_block(plan.seeds[row], plan.subsequences[row], 0);
  const uint64_t residue = exact_high64(words.word[0] | static_cast<uint64_t>(words.word[1]) << 32, total);
  uint64_t rest = residue;
  int64_t block = 0;
  for (; rest >= s.sums[block]; ++block) rest -= s.sums[block];
  int64_t column = block * BLOCK;
  for (; rest >= s.w[column]; ++column) rest -= s.w[column];
  out.tokens[row] = static_cast<int32_t>(column);
  out.total[row] = total;
  out.residue[row] = residue;
  std::copy(words.word, words.word + WORDS, out.words + row * plan.max_words);
  out.word_count[row] = WORDS;
}

// Log-probabilities of SIDE * W columns; log_total is exact_log of the sum of all.
static inline void logprobs_some(const uint64_t *w, uint64_t log_total, float *out) {
  lanes m[SIDE], h[SIDE], whole[SIDE], any = all(0);
  for (int k = 0; k < SIDE; ++k) any = add(any, load(w + k * W));
  if (!count(less(all(0), any))) {
    std::fill(out, out + SIDE * W, -INFINITY);
    return;
  }
  for (int k = 0; k < SIDE; ++k) {
    const lanes bits = double_bits(load(w + k * W));
    m[k] = right<32>(left<12>(bits));
    whole[k] = product(subtract(right<52>(bits), all(1023)), all(EXACT_LN2));
  }
  alternating(m, EXACT_LOG1P, h);
  for (int k = 0; k < SIDE; ++k) {
    const lanes part = subtract(m[k], right<32>(product(m[k], right<32>(product(m[k], h[k])))));
    store_logprob(out + k * W, subtract(all(log_total), add(whole[k], part)), load(w + k * W));
  }
}

// Step 5 for every column.
static void logprobs(const scratch &s, int64_t n, uint64_t total, float *out) {
  const uint64_t log_total = exact_log(total);
  for (int64_t i = 0; i < n; i += SIDE * W) {
    if (i + SIDE * W <= n) {
      logprobs_some(s.w + i, log_total, out + i);
    } else {
      float padded[SIDE * W];
      logprobs_some(s.w + i, log_total, padded);
      std::copy(padded, padded + (n - i), out + i);
    }
  }
  if (total < 2 * EXACT_ONE) out[std::find(s.w, s.w + n, EXACT_ONE) - s.w] = exact_likely_logprob(total - EXACT_ONE);
}

static void sample_row(const sampling_plan &plan, const exact_inputs &inputs, int64_t row, const scratch &s,
                       const sampling_result &out) {
  const int64_t n = plan.columns;
  const float *x = plan.logits + row * n;
  const float top = largest(x, n);
  if (plan.greedy[row]) {
    std::fill(s.w, s.w + s.blocks * BLOCK, 0);
    out.tokens[row] = static_cast<int32_t>(std::find(x, x + n, top) - x);
    out.total[row] = s.w[out.tokens[row]] = EXACT_ONE;
  } else {
    const uint64_t total = weigh(x, n, top, inputs.scale[row], s);
    out.threshold[row] = -INFINITY;
    out.sel[row] = n;
    if (plan.cut[row]) cut(plan, row, inputs.share[row], total, s, out);
    draw(plan, row, s, out);
  }
  if (plan.draft_ids && plan.draft_ids[row] >= 0) inputs.draft_weight[row] = s.w[plan.draft_ids[row]];
  if (!out.logprobs) return;
  std::copy(s.w, s.w + n, static_cast<uint64_t *>(out.weights) + row * n);
  for (int64_t i = 0; i < n; ++i) out.kept[row * n + i] = s.w[i] > 0;
  logprobs(s, n, out.total[row], out.logprobs + row * n);
}

int64_t exact_sample_scratch(int64_t columns) {
  const int64_t blocks = blocks_of(columns);
  return (3 * blocks * BLOCK + 4 * W + blocks) * sizeof(uint64_t) + columns * sizeof(tie);
}

void exact_sample_rows(const sampling_plan &plan, const exact_inputs &inputs, int64_t first, int64_t last, void *slab,
                       const sampling_result &out) {
  const scratch s = carve(slab, plan.columns);
  for (int64_t row = first; row < last; ++row) {
    if (out.status[row] == SAMPLING_OK) sample_row(plan, inputs, row, s, out);
  }
}

}  // namespace SIMD_NAMESPACE
