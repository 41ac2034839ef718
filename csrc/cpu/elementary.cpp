// exp and log of the float samplers, alone: what a proof about a native sampler needs to recompute its weights.
#include "simd_math.h"

namespace SIMD_NAMESPACE {

void exp32(const float *x, float *out, int64_t first, int64_t last) {
  for (int64_t at = first; at < last; at += 16) {
    float lane[16];
    store_f(lane, exp_f(load_some(x + at, last - at, 0.0f)));
    store_some(out + at, lane, last - at);
  }
}

void log32(const float *x, float *out, int64_t first, int64_t last) {
  for (int64_t at = first; at < last; ++at) out[at] = log_one(x[at]);
}

}  // namespace SIMD_NAMESPACE
