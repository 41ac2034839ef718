// Philox words and uniforms on a GPU (docs/spec/rng.md, section 2). Plain C ABI: pointers and a stream; every function
// returns a cudaError_t, 0 for success.
#include <cuda_runtime.h>

#include "philox.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int THREADS = 256;

__device__ void put(uint32_t *out, int64_t at, uint32_t word) { out[at] = word; }
__device__ void put(float *out, int64_t at, uint32_t word) { out[at] = philox_uniform(word); }

// Element e is block e % blocks of stream e / blocks; out is [keys, count].
template <class Value>
__global__ void fill(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts, int64_t keys,
                     int64_t blocks, int64_t count, Value *out) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t e = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < keys * blocks; e += stride) {
    const int64_t key = e / blocks, block = e % blocks;
    const uint64_t start = starts[key];
    const philox_block made = philox_stream_block(seeds[key], subsequences[key], (start >> 2) + block);
    const int64_t first = 4 * block - static_cast<int64_t>(start & 3);
    for (int lane = 0; lane < 4; ++lane) {
      const int64_t place = first + lane;
      if (place >= 0 && place < count) put(out, key * count + place, made.word[lane]);
    }
  }
}

template <class Value>
cudaError_t launch(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts, int64_t keys,
                   int64_t count, Value *out, cudaStream_t stream) {
  if (keys <= 0 || count <= 0) return cudaSuccess;
  const int64_t blocks = (count + 6) / 4;
  const int64_t wanted = (keys * blocks + THREADS - 1) / THREADS;
  const int grid = static_cast<int>(wanted < 65536 ? wanted : 65536);
  fill<<<grid, THREADS, 0, stream>>>(seeds, subsequences, starts, keys, blocks, count, out);
  return cudaGetLastError();
}

// Keys and results in host memory: allocate, copy, launch, copy back, free.
template <class Value>
cudaError_t from_host(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts, int64_t keys,
                      int64_t count, Value *out) {
  if (keys <= 0 || count <= 0) return cudaSuccess;
  const size_t key_bytes = keys * sizeof(uint64_t), out_bytes = keys * count * sizeof(Value);
  char *memory = nullptr;
  cudaError_t status = cudaMalloc(&memory, 3 * key_bytes + out_bytes);
  if (status != cudaSuccess) return status;
  uint64_t *device_keys = reinterpret_cast<uint64_t *>(memory);
  Value *device_out = reinterpret_cast<Value *>(memory + 3 * key_bytes);
  const uint64_t *parts[3] = {seeds, subsequences, starts};
  for (int i = 0; i < 3 && status == cudaSuccess; ++i) {
    status = cudaMemcpy(device_keys + i * keys, parts[i], key_bytes, cudaMemcpyHostToDevice);
  }
  if (status == cudaSuccess) {
    status = launch(device_keys, device_keys + keys, device_keys + 2 * keys, keys, count, device_out, nullptr);
  }
  if (status == cudaSuccess) status = cudaMemcpy(out, device_out, out_bytes, cudaMemcpyDeviceToHost);
  const cudaError_t freed = cudaFree(memory);
  return status != cudaSuccess ? status : freed;
}

}  // namespace

EXPORT int philox_device_count(int *count) { return cudaGetDeviceCount(count); }
EXPORT int philox_set_device(int device) { return cudaSetDevice(device); }
EXPORT const char *philox_error(int status) { return cudaGetErrorString(static_cast<cudaError_t>(status)); }

// Pointers into device memory; asynchronous on `stream`.
EXPORT int philox_words(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts, int64_t keys,
                        int64_t count, uint32_t *out, cudaStream_t stream) {
  return launch(seeds, subsequences, starts, keys, count, out, stream);
}
EXPORT int philox_uniform_floats(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts,
                                 int64_t keys, int64_t count, float *out, cudaStream_t stream) {
  return launch(seeds, subsequences, starts, keys, count, out, stream);
}

// Pointers into host memory; returns when `out` is filled.
EXPORT int philox_words_host(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts, int64_t keys,
                             int64_t count, uint32_t *out) {
  return from_host(seeds, subsequences, starts, keys, count, out);
}
EXPORT int philox_uniform_floats_host(const uint64_t *seeds, const uint64_t *subsequences, const uint64_t *starts,
                                      int64_t keys, int64_t count, float *out) {
  return from_host(seeds, subsequences, starts, keys, count, out);
}
