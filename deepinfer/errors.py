"""Errors that a person caused and can mend: one line, what was got, what is allowed, what to do."""


class InputError(ValueError):
    """Wrong input (a value, a shape, a file, a name). The command line prints it and ends with exit code 2."""


class MissingExtra(InputError):
    """A feature needs packages of an optional extra that is not installed."""

    def __init__(self, feature: str, extra: str, module: str) -> None:
        super().__init__(f"{feature} needs {module!r}, which is not installed: pip install 'deepinfer-repro[{extra}]'")


def unknown_name(kind: str, got: object, known: list[str] | tuple[str, ...]) -> InputError:
    """The error for a name that is in no table: it lists the known ones."""
    return InputError(f"unknown {kind} {got!r}: known are {', '.join(known)}")
