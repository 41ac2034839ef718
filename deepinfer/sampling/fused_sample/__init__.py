"""The candidate: the baseline's mathematics in one pass, with speculative verification (docs/spec/sampling.md, C)."""
