// What csrc/cpu/exact_sample.cpp and its dispatch share.
#pragma once

#include <stdint.h>

#include "sampling_abi.h"

// Beside the plan: c of step 1, P of step 3 (2^32: off); draft_weight receives the weight of each row's draft token.
struct exact_inputs {
  const float *scale;
  const uint64_t *share;
  uint64_t *draft_weight;
};
