// Ranges of rows over threads. Which thread takes which range is left to chance, so nothing a kernel computes may depend
// on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

// What the threads of one call share. A helper may wake after the call has returned (on a busy machine starting a thread
// takes longer than many a call): it then finds no part left, and touches nothing but this.
struct shared_parts {
  std::atomic<int64_t> next{0};
  int64_t parts = 0, done = 0;  // `done` under the lock
  std::mutex lock;
  std::condition_variable all_done;
};

// Takes parts until none is left. `body` exists as long as a part is not done.
template <class Body>
static inline void take_parts(shared_parts &shared, const Body *body) {
  int64_t finished = 0;
  for (int64_t part; (part = shared.next.fetch_add(1)) < shared.parts; ++finished) (*body)(part);
  if (finished == 0) return;
  const std::lock_guard<std::mutex> held(shared.lock);
  shared.done += finished;
  if (shared.done == shared.parts) shared.all_done.notify_all();
}

// Calls body(first, last) for contiguous ranges that together are [0, items), on the caller's thread and up to
// threads - 1 others; range limits are multiples of `grain` (but the last). Returns when all ranges are done. The caller
// waits for ranges that another thread has begun, never for a thread that has begun none; where the system refuses a
// thread, the others do its share.
template <class Body>
static inline void parallel_ranges(int64_t items, int threads, int64_t grain, const Body &body) {
  const int64_t grains = (items + grain - 1) / grain;
  const int64_t parts = threads < grains ? threads : grains;
  if (parts <= 1) {
    if (items > 0) body(int64_t{0}, items);
    return;
  }
  const auto limit = [=](int64_t part) { return part == parts ? items : grains * part / parts * grain; };
  const auto one = [&](int64_t part) { body(limit(part), limit(part + 1)); };
  const auto shared = std::make_shared<shared_parts>();
  shared->parts = parts;
  for (int64_t helper = 1; helper < parts; ++helper) {
    try {
      std::thread([shared, work = &one] { take_parts(*shared, work); }).detach();
    } catch (const std::system_error &) {
      break;
    }
  }
  take_parts(*shared, &one);
  std::unique_lock<std::mutex> held(shared->lock);
  shared->all_done.wait(held, [&] { return shared->done == shared->parts; });
}
