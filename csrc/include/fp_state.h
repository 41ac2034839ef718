// The floating-point environment that every bit depends on: round to nearest even, subnormals kept, nothing trapped.
// A caller (or a library built with -ffast-math) may have set the thread's otherwise.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>

// Sets the thread's state for its lifetime, then puts the caller's back.
struct fp_state {
  unsigned saved;
  fp_state() : saved(_mm_getcsr()) { _mm_setcsr(0x1F80u); }
  ~fp_state() { _mm_setcsr(saved); }
  fp_state(const fp_state &) = delete;
  fp_state &operator=(const fp_state &) = delete;
};
#else
struct fp_state {
  fp_state() {}  // elsewhere the default state is assumed
};
#endif
