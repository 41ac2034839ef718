"""Rules by pattern: which rule an output falls under, and which outputs a subject is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from deepinfer.errors import InputError
from harness.rules import Agreement, Ignore, Rule


def is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def resolved(rules: Mapping[str, Rule], answered: Collection[str]) -> dict[str, Rule]:
    """The rule of every output by its own name: exact names first, then shell patterns (`layers.*.out`; a star also
    crosses dots), in the order of `rules`.

    Raises InputError for a pattern that matches no output of either side, for an output under two patterns whose rules
    differ, and for agreement under a pattern.
    """
    exact = {name: rule for name, rule in rules.items() if not is_pattern(name) or name in answered}
    found: dict[str, Rule] = {}
    under: dict[str, str] = {}
    for name, rule in rules.items():
        if name in exact:
            found[name] = rule
            continue
        if isinstance(rule, Agreement):
            raise InputError(f"{rule.text} for {name!r}: a case has one drawn output: give its name")
        matching = sorted(output for output in answered if fnmatchcase(output, name))
        if not matching:
            known = ", ".join(sorted(answered)) or "none"
            raise InputError(f"the rule for {name!r} matches no output of either side: there are {known}")
        for output in matching:
            if output in exact:
                continue
            if output in under and found[output] != rule:
                both = f"{under[output]!r} and {name!r}"
                raise InputError(f"{output!r} is under {both}, whose rules differ: give it a rule of its own")
            found[output], under[output] = rule, name
    return found


def asked(rules: Mapping[str, Rule], answers: Collection[str]) -> tuple[str, ...]:
    """The outputs to ask a subject for: every name under a rule, and what it says it answers under a pattern. A pattern
    that nothing of that matches is passed on, for subjects that do not say."""
    names: dict[str, None] = {}
    for name, rule in rules.items():
        if isinstance(rule, Ignore):
            continue
        matching = [output for output in answers if is_pattern(name) and fnmatchcase(output, name)]
        names.update(dict.fromkeys(matching or [name]))
    return tuple(names)
