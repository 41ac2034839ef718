// Fills memory with consecutive words of one stream.
#include "philox.h"
#include "simd.h"

namespace SIMD_NAMESPACE {

void fill_words(uint64_t seed, uint64_t subsequence, uint64_t start, int64_t count, uint32_t *out) {
  for (int64_t done = 0; done < count;) {
    const uint64_t at = start + done;
    const philox_block block = philox_stream_block(seed, subsequence, (start >> 2) + ((start & 3) + done) / 4);
    for (uint64_t lane = at & 3; lane < 4 && done < count; ++lane) out[done++] = block.word[lane];
  }
}

}  // namespace SIMD_NAMESPACE
