"""`repro env`: what is installed and what it makes possible."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON instead of lines.")
def env(as_json: bool) -> int:
    """Show versions, the machine, and which backends can run here."""
    from repro.environment import facts

    found = facts()
    if as_json:
        print(json.dumps(found, indent=1, sort_keys=True))
        return 0
    for section, entries in found.items():
        print(section)
        for name, value in entries.items():
            print(f"  {name:<22} {'not installed' if value is None else value}")
    return 0
