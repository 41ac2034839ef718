"""The commands, each imported only when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from deepinfer import __version__

COMMANDS = {
    "run": ("repro.cli.run:run", "Compare two sides, explain each difference, write a report."),
    "explain": ("repro.cli.explain:explain", "Show the arithmetic of one row of a run."),
    "report": ("repro.cli.report:report", "Render a run again from its run.json."),
    "sample": ("repro.cli.sample:sample", "Draw one token for each row of a file of logits."),
    "rng": ("repro.cli.rng:rng", "Print random words and compare them with cuRAND's."),
    "streams": ("repro.cli.streams:streams", "Show how other systems number their random words, and print them."),
    "diagnose": ("repro.cli.diagnose:diagnose", "Find which assumption about a run explains its tokens."),
    "env": ("repro.cli.env:env", "Show what is installed and what it makes possible."),
}
"""Command name -> (module:attribute, one line of help)."""


class LazyGroup(click.Group):
    """A group that reads COMMANDS: listing and help import no command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"unknown command {args[0]!r}: known are {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="repro")
def repro() -> None:
    """Find where two runs of an LLM differ, explain each difference, and gate on it.

    Exit codes: 0 pass, 1 drift, 2 usage or unreadable input, 3 inconclusive, 4 not comparable, 5 nothing compared,
    70 internal error.
    """
