"""Ours: integers after two float operations, so that nothing but the row changes a token (docs/spec/sampling.md, D)."""
