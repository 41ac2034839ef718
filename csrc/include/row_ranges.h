// Rows over threads, each thread with a scratch of its own. Only for dispatch units.
#pragma once

#include <stdlib.h>

#include <atomic>

#include "fp_state.h"
#include "threads.h"

enum { ROWS_DONE = 0, ROWS_OUT_OF_MEMORY = 1 };

// body(first, last, slab) on `threads` ranges of [0, rows), with `bytes` of 64-byte aligned scratch. Returns
// ROWS_OUT_OF_MEMORY when a scratch cannot be had; that range is then not computed.
template <class Body>
static inline int row_ranges(int64_t rows, int threads, int64_t bytes, const Body &body) {
  std::atomic<int> code{ROWS_DONE};
  parallel_ranges(rows, threads, 1, [&](int64_t first, int64_t last) {
    void *slab = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!slab) {
      code = ROWS_OUT_OF_MEMORY;
      return;
    }
    {
      const fp_state state;
      body(first, last, slab);
    }
    free(slab);
  });
  return code;
}
