// NVIDIA's curand_kernel.h as ordinary C++: its host code paths are the same integer arithmetic as on a GPU
// (docs/spec/rng.md, section 6). One call is curand_init(seed, subsequence, offset) and then `count` values.
#define QUALIFIERS static inline
#include <curand_kernel.h>

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

static curandStatePhilox4_32_10_t opened(uint64_t seed, uint64_t subsequence, uint64_t offset) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, subsequence, offset, &state);
  return state;
}

EXPORT void device_u32(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, uint32_t *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand(&state);
}

EXPORT void device_uniform(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, float *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_uniform(&state);
}

EXPORT void device_uniform_double(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, double *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_uniform_double(&state);
}

EXPORT void device_uniform2_double(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, double *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; i += 2) {
    const double2 pair = curand_uniform2_double(&state);
    out[i] = pair.x;
    if (i + 1 < count) out[i + 1] = pair.y;
  }
}

EXPORT void device_normal(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, float *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_normal(&state);
}

EXPORT void device_normal_double(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, double *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_normal_double(&state);
}

EXPORT void device_log_normal(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, float mean,
                              float stddev, float *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_log_normal(&state, mean, stddev);
}

EXPORT void device_poisson(uint64_t seed, uint64_t subsequence, uint64_t offset, int64_t count, double lambda,
                           uint32_t *out) {
  auto state = opened(seed, subsequence, offset);
  for (int64_t i = 0; i < count; ++i) out[i] = curand_poisson(&state, lambda);
}
