// Steps A.7 and A.8 of docs/spec/sampling.md: one column by integer weights. Only for kernels.
#pragma once

#include "philox.h"
#include "sampling_abi.h"
#include "vec16.h"

namespace SIMD_NAMESPACE {

// CDF lanes from TILED_FROM columns on (spec.py); below, the CDF runs in column order.
enum : int64_t { TILED_FROM = 8192, TILED_LANES = 2048, BLOCK = 256 };

struct drawn {
  int64_t column;  // -1 when total is 0
  uint64_t total, limit, residue;
  int32_t words;
};

static inline uint32_t sum_block(const uint32_t *w, int64_t count) {
  U16 sum = set_u(0);
  for (int64_t j = 0; j < count; j += 16) sum = add_u(sum, load_u(w + j));
  return sum_u(sum);
}

// lane[j] = the sum of columns j, j + TILED_LANES, ...; `columns` is a multiple of 16.
static inline void lane_sums(const uint32_t *w, int64_t columns, uint32_t *lane) {
  memcpy(lane, w, TILED_LANES * sizeof *lane);
  for (int64_t start = TILED_LANES; start < columns; start += TILED_LANES) {
    const int64_t count = columns - start < TILED_LANES ? columns - start : TILED_LANES;
    for (int64_t j = 0; j < count; j += 16) store_u(lane + j, add_u(load_u(lane + j), load_u(w + start + j)));
  }
}

// Walks values in order until their running sum passes *residue; leaves in *residue what is missing before that index.
static inline int64_t walk_to(const uint32_t *value, const uint32_t *block, uint64_t *residue) {
  int64_t at = 0;
  uint64_t left = *residue;
  for (int64_t b = 0; left >= block[b]; ++b, at += BLOCK) left -= block[b];
  for (; left >= value[at]; ++at) left -= value[at];
  *residue = left;
  return at;
}

// Draws from w, uint32 with `columns` a multiple of 16 (zeros after the row's end), whose sum is below 2^32.
// `lanes` is scratch of TILED_LANES entries; `words` (length max_words) receives the first words drawn.
static inline drawn draw_column(const uint32_t *w, int64_t columns, uint64_t seed, uint64_t subsequence,
                                bool multiply_shift, uint32_t *lanes, uint32_t *words, int32_t max_words, bool tiled) {
  const uint32_t *value = w;
  int64_t values = columns;
  if (tiled) {
    lane_sums(w, columns, lanes);
    value = lanes;
    values = TILED_LANES;
  }
  uint32_t block[TILED_FROM / BLOCK];
  drawn result = {-1, 0, 0, 0, 0};
  for (int64_t start = 0; start < values; start += BLOCK) {
    const uint32_t sum = sum_block(value + start, values - start < BLOCK ? values - start : BLOCK);
    block[start / BLOCK] = sum;
    result.total += sum;
  }
  if (result.total == 0) return result;
  philox_stream stream = philox_open(seed, subsequence);
  result.limit = multiply_shift ? uint64_t{1} << 32 : 0xFFFFFFFFu / result.total * result.total;
  uint32_t word;
  do {
    word = philox_next(&stream);
    if (result.words < max_words) words[result.words] = word;
    ++result.words;
  } while (word >= result.limit);
  result.residue = multiply_shift ? word * result.total >> 32 : word % result.total;
  uint64_t left = result.residue;
  result.column = walk_to(value, block, &left);
  if (tiled) {
    for (; left >= w[result.column]; result.column += TILED_LANES) left -= w[result.column];
  }
  return result;
}

}  // namespace SIMD_NAMESPACE
