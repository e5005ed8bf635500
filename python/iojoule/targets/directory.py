"""A directory of files as a target: files that are there, or files that are made for the campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from iojoule.errors import ConfigError
from iojoule.quantities import Size
from iojoule.targets.base import Opening
from iojoule.targets.file import hole_warnings, surroundings
from iojoule.targets.guard import file_for_writing, folder_for_writing
from iojoule.targets.keys import Fill, StorageKeys
from iojoule.targets.made import is_ours, made_folder, workshop
from iojoule.targets.storage import Storage


class DirectoryTarget(StorageKeys):
    """``[[target]]`` with ``kind = "directory"``."""

    kind: Literal["directory"] = "directory"
    path: Path | None = Field(None, description="The directory; one in the campaign folder if left out.")
    files: int | None = Field(
        None, gt=0, le=999_999, description="Files to make; if left out, the files that are there are driven."
    )
    file_size: Size | None = Field(None, gt=0, description="Size of each file that is made.")
    fill: Fill = Field("random", description="What they are made of; sparse has no blocks: reads of it do no I/O.")

    @model_validator(mode="after")
    def _made_or_there(self) -> DirectoryTarget:
        if (self.files is None) != (self.file_size is None):
            raise ValueError("'files' and 'file_size' go together")
        if self.path is None and self.files is None:
            raise ValueError("give the 'path' of a directory of files, or 'files' and 'file_size' of those to be made")
        return self


@contextmanager
def open_directory(config: DirectoryTarget, opening: Opening) -> Iterator[Storage]:
    """Open the files of the directory. ConfigError, DeviceError or HostError where they may not be used."""
    writes = opening.writes or config.purge != "never"
    with workshop(opening) as shared:
        place = config.path or shared / f"{config.files}-{config.file_size}-{config.fill}"
        ours = is_ours(place, shared)
        if config.files is not None and config.file_size is not None:
            folder_for_writing(place, opening.destroy, ours=ours)
            files = made_folder(place, config.files, config.file_size, config.fill, shared, opening.note)
        else:
            files = _files(place)
            if writes:
                folder_for_writing(place, opening.destroy, ours=ours)
        if writes:
            for file in files:
                file_for_writing(file, [file], ours=ours)
        facts, settings, block, warnings = surroundings(place)
        holes = [warning for file in files for warning in hole_warnings(file)]
        warnings += holes[:1] + ([f"and {len(holes) - 1:,} more files with holes"] if len(holes) > 1 else [])
        yield Storage(
            config.name,
            config.kind,
            files,
            sum(file.stat().st_size for file in files),
            block,
            warnings,
            {"directory": str(place), "files": len(files), **facts},
            settings,
            writable=writes,
            purge=config.purge,
            drop_caches=config.drop_caches,
            shared=shared,
        )


def _files(place: Path) -> list[Path]:
    """The files of a directory that is there, empty ones and links left out, by name."""
    if not place.is_dir():
        raise ConfigError(f"there is no directory {place}; give 'files' and 'file_size' to have it made")
    every = sorted(path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    files = [path.resolve() for path in every if path.stat().st_size]
    if not files:
        raise ConfigError(f"{place} holds no file with anything in it", key="target.path", value=str(place))
    return files
