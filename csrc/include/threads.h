// A static partition of rows over threads. Nothing a kernel computes may depend on the partition.
#pragma once

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

// Calls body(first, last) for `threads` contiguous ranges that together are [0, items); the caller's thread takes the
// first range. Range limits are multiples of `grain` (but the last). Where the system refuses a thread, the caller does
// that range itself.
template <class Body>
static inline void parallel_ranges(int64_t items, int threads, int64_t grain, const Body &body) {
  const int64_t grains = (items + grain - 1) / grain;
  const int64_t parts = threads < grains ? threads : grains;
  if (parts <= 1) {
    if (items > 0) body(int64_t{0}, items);
    return;
  }
  auto limit = [&](int64_t part) { return part == parts ? items : grains * part / parts * grain; };
  std::vector<std::thread> running;
  running.reserve(parts - 1);
  for (int64_t part = 1; part < parts; ++part) {
    try {
      running.emplace_back([&body, first = limit(part), last = limit(part + 1)] { body(first, last); });
    } catch (const std::system_error &) {
      body(limit(part), limit(part + 1));
    }
  }
  body(int64_t{0}, limit(1));
  for (auto &thread : running) thread.join();
}
