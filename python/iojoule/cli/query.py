"""``iojoule query``: SQL over a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def app(
    folder: Annotated[Path, typer.Argument(help="Folder of a campaign or run.")],
    sql: Annotated[str, typer.Argument(help="SQL in DuckDB's dialect over the tables requests, readings and runs.")],
    csv: Annotated[bool, typer.Option("--csv", help="CSV instead of a table.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """SQL over the tables of a campaign; column `run` names the run a row belongs to.

    Example:  iojoule query RUNS "select run, error, count(*) from requests group by all"
    """
    from iojoule.cli import console
    from iojoule.store.query import query
    from iojoule.store.reader import open_campaign

    table = query(open_campaign(folder), sql)
    if json:
        console.document({"columns": table.column_names, "rows": table.to_pylist()})
        return
    if csv:
        import sys

        import pyarrow.csv

        pyarrow.csv.write_csv(table, sys.stdout.buffer)
        return
    rows = [
        [str(value) for value in row] for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(table.column_names, *rows, strict=True)]
    for row in [table.column_names, *rows]:
        print("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())
