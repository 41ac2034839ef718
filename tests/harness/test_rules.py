"""Rules are frozen values with one text each, and wrong ones cannot be made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import date

import pytest

from deepinfer.errors import InputError
from harness import rules

TEXTS = {
    "bitwise": rules.bitwise(),
    "ulp(2)": rules.ulp(2),
    "ulp(2, at_least=1.0)": rules.ulp(2, at_least=1.0),
    "tolerance(rtol=0.0, atol=1e-06)": rules.tolerance(0.0, 1e-6),
    "same_set": rules.same_set(),
    "same_set(floor=0.99)": rules.same_set(0.99),
    "agreement": rules.agreement(),
    "agreement(cluster='prompt')": rules.agreement("prompt"),
    "ignore('no masks upstream', expires=2027-01-31)": rules.ignore("no masks upstream", "2027-01-31"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_stable(text: str) -> None:
    assert TEXTS[text].text == text


@pytest.mark.parametrize("rule", TEXTS.values(), ids=lambda rule: type(rule).__name__)
def test_rules_are_frozen_and_compare_by_value(rule: rules.Rule) -> None:
    with pytest.raises(FrozenInstanceError):
        rule.extra = 1  # type: ignore[union-attr]
    assert hash(rule) == hash(type(rule)(**vars(rule)))
    assert rule == type(rule)(**vars(rule))


@pytest.mark.parametrize(
    "make",
    [
        lambda: rules.ulp(-1),
        lambda: rules.ulp(1.5),  # type: ignore[arg-type]
        lambda: rules.ulp(True),
        lambda: rules.ulp(1, at_least=0.0),
        lambda: rules.ulp(1, at_least=float("inf")),
        lambda: rules.tolerance(1.0, 0.0),
        lambda: rules.tolerance(-0.1, 0.0),
        lambda: rules.tolerance(float("nan"), 0.0),
        lambda: rules.tolerance(0.0, float("inf")),
        lambda: rules.tolerance(0.0, -1.0),
        lambda: rules.same_set(0.0),
        lambda: rules.same_set(1.5),
        lambda: rules.ignore("  ", "2027-01-31"),
        lambda: rules.ignore("why", "31.1.2027"),
        lambda: rules.ignore("why", ""),
    ],
)
def test_wrong_rules_are_one_line(make: object) -> None:
    with pytest.raises(InputError) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_ignore_holds_on_its_last_day_and_not_after() -> None:
    rule = rules.ignore("why", "2027-01-31")
    assert not rule.expired(date(2027, 1, 31))
    assert rule.expired(date(2027, 2, 1))
