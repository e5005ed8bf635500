"""The engine. One section a verb; each is one file under `crates/python/src`."""

from os import PathLike
from typing import Any, final

__version__: str
DEBUG_BUILD: bool
"""True where the engine was built without optimisation: such a build refuses to measure."""

# table

@final
class TableWriter:
    """A Parquet file that stays readable up to its last commit when the writer is killed.

    `like` and `rows` are anything with the Arrow PyCapsule stream interface.
    """

    def __new__(cls, path: str | PathLike[str], like: Any) -> TableWriter: ...
    def write(self, rows: Any) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...

def recover_table(path: str | PathLike[str]) -> bool:
    """Make the table of a killed writer readable; True where it had to be mended."""
