"""``iojoule report``: the page again, from the tables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def app(
    folder: Annotated[Path, typer.Argument(help="Folder of a campaign or run.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the page goes; default report.html in it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file named with --output.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Make the report of a campaign again; the same tables give the same numbers.

    Example:  iojoule report runs/20260101T120000Z_web_1a2b3c
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError
    from iojoule.report import build_report, load_campaign

    campaign = load_campaign(folder)
    page = output or folder / "report.html"
    if output is not None and output.exists() and not force:
        raise ConfigError(f"{output} exists; --force overwrites it", key="--output")
    write_page(page, build_report(campaign))
    if json:
        console.document({"report": str(page)})
    else:
        print(f"report: {page}")


def write_page(page: Path, html: str) -> None:
    """Write the page whole or not at all; RunFailed where there is no room for it."""
    from iojoule.errors import RunFailed

    fresh = page.with_name(page.name + ".new")
    try:
        fresh.write_text(html, encoding="utf-8")
        fresh.replace(page)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise RunFailed(f"cannot write {page}: {error.strerror}") from error
