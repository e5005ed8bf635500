"""``iojoule host``: what this machine is, and what would disturb a measurement on it; ``restore`` puts back what a
killed run had changed."""

from __future__ import annotations

from typing import Annotated

import typer

from iojoule.cli.host_restore import restore

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.command()(restore)


@app.callback()
def checks(
    context: typer.Context,
    facts: Annotated[bool, typer.Option("--facts", help="Everything a manifest records of the host.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """What would disturb a measurement here, and what to do about it; exits 1 if anything would.

    Examples:  iojoule host · iojoule host --facts --json · iojoule host restore runs
    """
    if context.invoked_subcommand is not None:
        return 0
    from dataclasses import asdict

    from iojoule.cli import console
    from iojoule.errors import Exit
    from iojoule.host import checks as host_checks
    from iojoule.host import facts as host_facts

    found = host_checks.checks()
    code = int(Exit.CHECK_FAILED if any(check.ok is False for check in found) else Exit.FINE)
    if json:
        console.document({"checks": [asdict(check) for check in found], "facts": host_facts.facts(), "exit": code})
        return code
    if facts:
        import json as text

        print(text.dumps(host_facts.facts(), indent=1, default=str))
        return int(Exit.FINE)
    for check in found:
        sign = {True: "ok  ", False: "FIX ", None: "?   "}[check.ok]
        print(f"{sign}  {check.name:24} {check.found}")
        if check.ok is False:
            print(f"{'':32}{check.advice}")
    return code
