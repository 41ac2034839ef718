"""The A/B bench: cases, rules, subjects, a runner, and the statistics of agreement."""
