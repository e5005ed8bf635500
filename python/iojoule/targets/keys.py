"""The keys that storage targets have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from iojoule.quantities import Size
from iojoule.targets.precondition import Precondition
from iojoule.targets.storage import Place

Fill = Literal["random", "zero", "sparse"]


class StorageKeys(BaseModel):
    """Every ``[[target]]`` of storage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Name in tables, pictures and folders.")
    purge: Literal["never", "campaign", "step"] = Field(
        "never",
        description="When everything on it is discarded, or overwritten with zeros where that is missing: before every "
        "step, or before its first step. It must be named in destroy.",
    )
    precondition: Precondition | None = Field(None, description="How it is written before it is measured.")
    drop_caches: bool = Field(
        True, description="Write back and drop the kernel's caches before each step; all of them where root."
    )


class FileKeys(StorageKeys):
    """Every ``[[target]]`` on a file of ours or the user's."""

    kind: str
    path: Path | None = Field(
        None, description="The file, or that below the loop device; one in the campaign folder if left out."
    )
    size: Size | None = Field(None, gt=0, description="Size the file is made with where it is not there.")
    fill: Fill = Field("random", description="What it is made of; sparse has no blocks: reads of it do no I/O.")
    keep: bool = Field(False, description="Keep the file when the campaign ends, where it was made.")

    @property
    def place(self) -> Place:
        """What is known of it before it is open."""
        return Place(self.name, self.size, 512)

    @model_validator(mode="after")
    def _path_or_size(self) -> Self:
        if self.path is None and self.size is None:
            raise ValueError("give the 'path' of a file that is there, or the 'size' of one to be made")
        return self


class DiskKeys(StorageKeys):
    """Every ``[[target]]`` of a block device: what is set on its disk for the step, and put back afterwards."""

    read_ahead: Size | None = Field(
        None, description="Read-ahead of the disk, in whole pages; 0 turns it off. Put back after the step."
    )
    scheduler: str | None = Field(
        None, description="I/O scheduler of the disk: none, mq-deadline, kyber, bfq. Put back after the step."
    )
    write_cache: Literal["write back", "write through"] | None = Field(
        None, description="Volatile write cache of the disk used, or written through. Put back after the step."
    )

    @field_validator("read_ahead")
    @classmethod
    def _whole_pages(cls, size: int | None) -> int | None:
        if size is not None and size % (page := os.sysconf("SC_PAGE_SIZE")):
            raise ValueError(f"the kernel reads ahead in pages of {page} bytes")
        return size

    def wanted_settings(self) -> dict[str, str]:
        """What is asked for, as the attributes below ``queue/`` are written."""
        wanted = {
            "write_cache": self.write_cache,
            "scheduler": self.scheduler,
            "read_ahead_kb": None if self.read_ahead is None else str(self.read_ahead // 1024),
        }
        return {name: value for name, value in wanted.items() if value is not None}
