"""``iojoule host restore``: put back what runs changed on this machine and were killed before they could put back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def restore(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Run folders, campaign folders, or folders of campaigns; runs if left out."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Put back also what somebody else has changed since.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Put back settings, detach loop devices and remove files that killed runs left behind.

    Exits 1 if something could not be put back. What a run that still goes on has changed is left to it.

    Examples:  iojoule host restore · iojoule host restore runs/20260101T120000Z_ssd_1a2b3c --json
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError, Exit
    from iojoule.host.restore import restore as put_back

    places = folders or [Path("runs")]
    if missing := [place for place in places if folders and not place.is_dir()]:
        raise ConfigError(f"there is no folder {missing[0]}", key="folders", value=str(missing[0]))
    outcomes = put_back(places, force=force)
    code = int(Exit.CHECK_FAILED if any(o.result in ("left", "failed") for o in outcomes) else Exit.FINE)
    if json:
        console.document({"changes": [outcome.to_json() for outcome in outcomes], "exit": code})
        return code
    for outcome in outcomes:
        print(f"{outcome.result:8}  {outcome.what}: {outcome.text}")
    if not outcomes:
        print(f"nothing to restore in {', '.join(map(str, places))}")
    return code
