// The C view of a sampler's Plan and SampleResult: what deepinfer/sampling/native_call.py hands to a *_run function.
// Row-major arrays of `rows` entries or rows * columns; a null pointer where Python has None. Meanings: params.py,
// result.py and docs/spec/sampling.md.
#pragma once

#include <stdint.h>

struct sampling_plan {
  int64_t rows, columns;
  const float *logits;
  const float *inv_temperature, *temperature, *top_p;
  const uint32_t *ps;
  const int64_t *ks;
  const uint8_t *cut, *greedy;
  const uint64_t *seeds, *subsequences;
  const float *draft_logprobs;
  const int32_t *draft_ids;
  const uint8_t *is_verify;
  uint32_t min_p31;
  int32_t multiply_shift;  // draw == "multiply_shift", else "modulo_reject"
  int32_t top_k_first;     // filter_order == "top_k_first", else "joint"
  int32_t max_words;       // row length of sampling_result::words
};

struct sampling_result {
  int32_t *tokens, *status;
  float *lse, *lse0, *threshold;
  int64_t *sel;
  uint64_t *total, *limit, *residue;
  uint32_t *words;
  int32_t *word_count, *purpose;
  uint64_t *subsequences;
  float *logprobs;
  uint8_t *kept;
  void *weights;  // uint32_t, or uint64_t in exact_sample
  uint32_t *accept_word;
  uint8_t *accept;
  float *accept_prob, *draft_logprob;
};

// Values of `status`, as in params.py.
enum { SAMPLING_OK = 0, SAMPLING_ZERO_TOTAL = 4 };

// Purposes of a stream, as in rng/spec.py.
enum { SAMPLING_FRESH = 0, SAMPLING_RESIDUAL = 1, SAMPLING_ACCEPT = 2 };
