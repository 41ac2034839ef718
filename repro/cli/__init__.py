"""The command line. `main` maps every way to end to an exit code (docs/spec/verdict.md, Exit codes)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

USAGE, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run `repro ARGV` (None: the process's own arguments) and return the exit code.

    Data goes to stdout, logs and errors to stderr. What a person can mend is one line and USAGE; a reader that went
    away ends quietly; anything unforeseen is INTERNAL, its traceback saved in a file that the one line names.
    """
    import click

    from deepinfer.errors import InputError
    from repro.cli.group import repro

    try:
        # not `repro.main`, which would end a broken pipe with 1: that is drift
        with repro.make_context("repro", list(sys.argv[1:] if argv is None else argv)) as context:
            code: int | None = repro.invoke(context)
        sys.stdout.flush()
        return code or 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return USAGE
    except click.ClickException as error:
        return _refuse(error.format_message())
    except InputError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the exit's flush says nothing either
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        print("repro: interrupted", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        return _refuse(f"{error.filename or 'cannot write'}: {error.strerror or error}")
    except Exception:
        return _crash()


def _refuse(message: str) -> int:
    print(f"repro: error: {' '.join(message.split())}", file=sys.stderr)
    return USAGE


def _crash() -> int:
    import tempfile
    import traceback

    kind, error = sys.exc_info()[:2]
    with tempfile.NamedTemporaryFile("w", prefix="repro-traceback-", suffix=".txt", delete=False) as file:
        file.write(traceback.format_exc())
    name = kind.__name__ if kind else "error"
    print(f"repro: internal error: {name}: {' '.join(str(error).split())} (traceback in {file.name})", file=sys.stderr)
    return INTERNAL
