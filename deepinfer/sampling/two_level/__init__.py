"""The baseline: DeepInfer 0.1.0's `fused_sample` as docs/spec/sampling.md, A, writes it down."""
