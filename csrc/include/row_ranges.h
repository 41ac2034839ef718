// Rows over threads, each thread with a scratch of its own. Only for dispatch units.
#pragma once

#include <stdlib.h>

#include <atomic>

#include "fp_state.h"
#include "threads.h"

enum { ROWS_DONE = 0, ROWS_OUT_OF_MEMORY = 1 };

// body(first, last, slab) on ranges that together are [0, rows), by `threads` threads that take the next few rows when
// they are done with theirs, each with `bytes` of 64-byte aligned scratch. Returns ROWS_OUT_OF_MEMORY when a scratch
// cannot be had.
template <class Body>
static inline int row_ranges(int64_t rows, int threads, int64_t bytes, const Body &body) {
  std::atomic<int> code{ROWS_DONE};
  std::atomic<int64_t> next{0};
  const int64_t few = rows / (16 * threads) + 1;
  parallel_ranges(threads < rows ? threads : rows, threads, 1, [&](int64_t, int64_t) {
    void *slab = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!slab) {
      code = ROWS_OUT_OF_MEMORY;
      return;
    }
    {
      const fp_state state;
      for (int64_t first; (first = next.fetch_add(few)) < rows;) body(first, first + few < rows ? first + few : rows, slab);
    }
    free(slab);
  });
  return code;
}
