"""`repro diagnose`: which assumption about a run explains the tokens it gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepinfer.errors import InputError

if TYPE_CHECKING:
    from repro.streams.diagnose import Diagnosis, Finding

EXPLAINED, OTHERWISE, UNEXPLAINED = 0, 1, 3
SHOWN = 5
"""Findings printed of each kind."""


@click.command()
@click.argument("logits", type=click.Path(path_type=Path))
@click.argument("tokens", type=click.Path(path_type=Path))
@click.option("--engine", required=True, help="A name of `repro streams --samplers`.")
@click.option("--version", "version", required=True, help="The engine's version.")
@click.option("--seed", "seeds", metavar="N[,N...]", help="One seed, or one a row. [default: `seeds` of LOGITS]")
@click.option("--position", "positions", metavar="N[,N...]", help="One, or one a row. [default: `positions` of LOGITS]")
@click.option("--fact", "facts", multiple=True, metavar="NAME=VALUE", help="A further fact; N,N,... is one a row.")
@click.option("--temperature", type=float, default=1.0, show_default=True)
@click.option("--top-k", type=int, default=-1, show_default=True, help="-1 is off.")
@click.option("--top-p", type=float, default=1.0, show_default=True, help="1 is off.")
@click.option("--min-p", type=float, default=0.0, show_default=True, help="0 is off.")
@click.option("--pairs/--no-pairs", default=True, show_default=True, help="Also try two changes at once.")
def diagnose(
    logits: Path,
    tokens: Path,
    engine: str,
    version: str,
    seeds: str | None,
    positions: str | None,
    facts: tuple[str, ...],
    pairs: bool,
    **parameters: float,
) -> int:
    """Replay the rows of LOGITS as ENGINE would sample them, compare with TOKENS, and name what broke.

    LOGITS is a file as `repro sample` takes it (probabilities under the name `logits` where the engine takes those);
    TOKENS a .json list, or an .npz with `tokens`. Exit code 0: explained as claimed; 1: explained by the changes
    printed; 3: nothing tried explains every row.
    """
    import numpy as np

    from repro.cli.logits import open_logits
    from repro.streams.diagnose import Claim
    from repro.streams.diagnose import diagnose as search
    from repro.streams.samplers import sampler

    file = open_logits(logits)
    known = [fact.name for fact in sampler(engine).facts]
    given = dict(_fact(text) for text in facts)
    for name, text, extra in (("seed", seeds, "seeds"), ("position", positions, "positions")):
        if text is not None:
            given[name] = _value(text)
        elif name in known and name not in given and extra in file.extras:
            given[name] = file.extras[extra].tolist()
    rows = np.concatenate(list(file.chunks(max(1, file.rows))))
    found = search(Claim(engine, version, rows, parameters, given), _tokens(tokens), pairs=pairs)
    _show(found)
    if found.claim.whole:
        return EXPLAINED
    return OTHERWISE if found.causes else UNEXPLAINED


def _fact(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"fact {text!r}: give NAME=VALUE")
    return name, _value(value)


def _value(text: str) -> Any:
    if "," in text:
        return [_value(part) for part in text.split(",")]
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text, 0)
    except ValueError:
        return text


def _tokens(path: Path) -> list[int]:
    import numpy as np

    if not path.is_file():
        raise InputError(f"{path} is not a file: give a .json list of integers, or an .npz with `tokens`")
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            if "tokens" not in file.files:
                raise InputError(f"{path} has no array `tokens`: it holds {', '.join(file.files) or 'nothing'}")
            values = file["tokens"].tolist()
    else:
        try:
            values = json.loads(path.read_text())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read as json: {error}") from None
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise InputError(f"{path}: tokens are no list of integers: give one integer a row")
    return values


def _show(found: Diagnosis) -> None:
    claim = found.claim
    print(f"as claimed: {claim.explained} of {claim.rows} tokens explained")
    if claim.whole:
        return
    for title, findings in (("one change", found.singles), ("two changes", found.pairs)):
        for finding in findings[:SHOWN]:
            print(f"{title}: {_line(finding)}")
    causes = found.causes
    if len(causes) == 1:
        print(f"cause: {' = '.join(causes[0].changes)}")
    elif causes:
        print("causes that explain every row: " + "; ".join(cause.changes[0] for cause in causes[:SHOWN]))
    else:
        print(f"no cause: nothing of {found.tried} changes explains every row beyond chance; give more rows or facts")


def _line(finding: Finding) -> str:
    alike = " = ".join(finding.changes)
    return (
        f"{alike}: {finding.explained} of {finding.rows} explained, {finding.decisive} by it alone, "
        f"false match {finding.false_match:.1e}"
    )
