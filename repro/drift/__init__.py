"""Why two sides draw different tokens: a proof for each row, what was to be expected, how far proofs can mislead."""

from repro.drift.explain import explain
from repro.drift.story import RowStory, arithmetic, story, table_row

__all__ = ["RowStory", "arithmetic", "explain", "story", "table_row"]
