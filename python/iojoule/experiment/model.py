"""The experiment file: what every key means. ``iojoule explain KEY`` prints these descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.metrics.profiles import profile_of
from iojoule.quantities import Seconds

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


class OwnProfile(BaseModel):
    """A profile with limits of one's own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME, description="What it is called in verdicts.")
    base: str = Field(description="The profile whose rules it has.")
    limits: dict[str, float] = Field(default_factory=dict, description="Limits by rule that differ from the base's.")


class Header(BaseModel):
    """``[experiment]``: what holds for every step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME, description="Name of the experiment; part of the campaign folder's name.")
    description: str = Field("", description="A sentence for the report.")
    seed: int = Field(1, ge=0, description="Seed of everything random: spreading, content, order.")
    repeats: int = Field(
        1, ge=1, le=1000, description="How often each step is run; intervals need at least 2, better 5."
    )
    order: Literal["interleaved", "grouped", "random"] = Field(
        "interleaved",
        description="Order of the steps: interleaved runs every combination once before any is repeated, so that drift "
        "hits all alike; grouped repeats one before the next; random is seeded.",
    )
    output: Path = Field(Path("runs"), description="Folder for campaign folders.")
    idle: Seconds = Field(0.0, description="Idle time measured before each workload; gives the idle power.")
    idle_after: Seconds = Field(0.0, description="Idle time measured after each workload; shows how far idle drifted.")
    sync_pulse: bool = Field(
        False,
        description="Drive a load of known times at both ends of each measured step (15 s each: reads of the storage, "
        "or a busy processor) and say when each meter saw it.",
    )
    interval: Seconds | None = Field(
        None, gt=0, description="Interval of the power and rate figures; 15 s, or less in short runs, if left out."
    )
    profiles: list[str | OwnProfile] = Field(
        default_factory=list,
        description="Rule sets the runs are held against: spec, mlperf, snia_emerald, energy_star, or a table {name, "
        "base, limits} with limits of one's own.",
    )
    alignment: float = Field(
        0.01,
        gt=0,
        lt=1,
        description="Share of the energy that a shift between the clocks may cost; shorter phases are warned of.",
    )
    destroy: list[Path] = Field(
        default_factory=list, description="Devices, files and non-empty directories this experiment may overwrite."
    )

    @model_validator(mode="after")
    def _profiles_exist(self) -> Header:
        for chosen in self.profiles:
            profile_of(chosen if isinstance(chosen, str) else chosen.model_dump())
        return self


class Experiment(BaseModel):
    """A whole experiment file; its targets, workloads and meters are models of their own kinds already."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: Header
    target: list[Any] = Field(min_length=1)
    workload: list[Any] = Field(min_length=1)
    meter: list[Any] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_differ(self) -> Experiment:
        for section in ("target", "workload", "meter"):
            names = [entry.name for entry in getattr(self, section)]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise ValueError(f"two [[{section}]] sections are named {', '.join(sorted(twice))!r}")
        return self
