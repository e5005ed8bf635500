"""``iojoule compare``: one target, or one campaign, against another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from iojoule.metrics.metric import Difference


def app(
    folders: Annotated[list[Path], typer.Argument(help="A campaign with several targets, or several campaigns.")],
    baseline: Annotated[
        str | None, typer.Option(help="Target (or campaign folder) the others are compared with.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every metric, not only the headlines.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Differences in % with 95 % intervals; Welch's t-test says whether repeats support them.

    Examples:  iojoule compare CAMPAIGN --baseline nginx · iojoule compare CAMPAIGN_BEFORE CAMPAIGN_AFTER
    """
    from dataclasses import asdict

    from iojoule.cli import console

    pairs = list(comparisons(folders, baseline))
    if json:
        console.document(
            {"comparisons": [{**names, "differences": [asdict(d) for d in rows]} for names, rows in pairs]}
        )
        return
    from iojoule.cli.show import HEADLINES

    for names, rows in pairs:
        print(f"\n{names['workload']}: {names['other']} against {names['baseline']}")
        for row in rows:
            # How far a cell is off its own depth says nothing about another cell.
            headline = row.name in HEADLINES and row.name != "little_deviation"
            if everything or (headline and row.scope in ("", "system")):
                print(f"  {row.name:34} {row.baseline:12,.5g} → {row.other:12,.5g} {row.unit:6} {_percent(row)}")


def comparisons(folders: list[Path], baseline: str | None) -> Any:
    """Pairs of (names, differences) of every group against its baseline group."""
    from iojoule.errors import ConfigError
    from iojoule.metrics.repeats import compare
    from iojoule.report import load_campaign
    from iojoule.report.reduce import reduce_campaign

    groups: dict[str, list[tuple[str, Any]]] = {}
    for folder in folders:
        scenarios, _ = reduce_campaign(load_campaign(folder))
        for scenario in scenarios:
            for group in scenario.groups:
                name = group.target if len(folders) == 1 else f"{folder.name}/{group.target}"
                groups.setdefault(scenario.title, []).append((name, group))
    names = sorted({name for entries in groups.values() for name, _ in entries})
    wanted = baseline and Path(baseline).name if len(folders) > 1 else baseline
    if len(names) < 2:
        raise ConfigError("there is nothing to compare: only one target was measured", value=", ".join(names))
    if wanted and not any(_is(name, wanted) for name in names):
        raise ConfigError(f"no target is named {wanted!r}", key="--baseline", allowed=names)
    for title, entries in groups.items():
        first = next((entry for entry in entries if wanted and _is(entry[0], wanted)), entries[0])
        for name, group in entries:
            if name != first[0]:
                found: list[Difference] = compare(first[1].estimates, group.estimates)
                yield {"workload": title, "baseline": first[0], "other": name}, found


def _is(name: str, wanted: str) -> bool:
    return wanted in (name, name.split("/")[0], name.rsplit("/", 1)[-1])


def _percent(row: Difference) -> str:
    if row.percent is None:
        return ""
    interval = "" if row.percent_ci95 is None else f" ± {row.percent_ci95:.2g}"
    verdict = {True: "significant", False: "within the noise", None: "one repeat each: no test"}[row.significant]
    return f"{row.percent:+.2f}{interval} %  {verdict}"
