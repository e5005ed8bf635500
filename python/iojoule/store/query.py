"""SQL over a folder: the tables ``requests``, ``readings``, ``states`` and ``runs``, joined by their column ``run``."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from iojoule.errors import ConfigError
from iojoule.store.imported import tables
from iojoule.store.reader import CampaignFolder


def query(campaign: CampaignFolder, sql: str) -> pa.Table:
    """The result of ``sql`` in DuckDB's dialect over every run of ``campaign``."""
    import duckdb

    connection = duckdb.connect()
    facts = [
        {
            "run": run.path.name,
            "status": run.status,
            **{k: v for k, v in run.manifest["step"].items() if k != "parameters"},
        }
        for run in campaign.runs
    ]
    connection.register("runs", pa.Table.from_pylist(facts))
    for name in ("requests", "readings", "states"):
        parts = [
            f"select {_quoted(run.path.name)} as run, * from read_parquet({_quoted(str(file))})"
            for run in campaign.runs
            for file in [run.path / "tables" / f"{name}.parquet", *(tables(run.path) if name == "readings" else ())]
            if file.exists()
        ]
        if parts:
            connection.execute(f"create view {name} as {_union(parts)}")
    try:
        return connection.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise ConfigError(f"the query failed: {error}", key="sql", value=sql) from error


def _union(parts: Sequence[str]) -> str:
    return " union all ".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
