"""fio job files: sections of ``key=value`` lines, ``[global]`` for those that follow it, ``include``.

As fio 3.33 reads them (init.c, ``__parse_jobs_ini``): ``;`` and ``#`` begin a comment anywhere, a section whose name
begins with ``global`` changes the defaults of all sections after it, an included file holds no sections.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from iojoule.errors import ConfigError

_DEEPEST = 16


@dataclass(frozen=True)
class Line:
    """One option as written, and where; ``value`` is None where there is no ``=``."""

    key: str
    value: str | None
    file: Path
    number: int

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"

    @property
    def text(self) -> str:
        return self.key if self.value is None else f"{self.key}={self.value}"


@dataclass(frozen=True)
class Section:
    """One ``[section]`` and the lines below it, those of included files in their place."""

    name: str
    file: Path
    number: int
    lines: list[Line] = field(default_factory=list)

    @property
    def is_global(self) -> bool:
        return self.name.startswith("global")


@dataclass(frozen=True)
class Job:
    """One job: its section, and every option in force in it, the last of each key."""

    section: Section
    options: dict[str, Line]

    @property
    def name(self) -> str:
        return self.section.name


def read_job_file(path: Path) -> list[Section]:
    """The sections of the job file at ``path``; ConfigError where fio would not read it either."""
    sections: list[Section] = []
    for number, text in _texts(path):
        if header := re.match(r"\[([^\n]*)\]", text):
            sections.append(Section(header[1], path, number))
        elif not sections:
            raise ConfigError(f"{text!r} stands before the first [section]", file=path, line=number)
        else:
            sections[-1].lines.extend(_lines(text, path, number, depth=0))
    if all(section.is_global for section in sections):
        raise ConfigError("the job file has no job: a [section] that is not [global]", file=path)
    return sections


def jobs_of(sections: Sequence[Section], canonical: Callable[[str], str] = lambda key: key) -> list[Job]:
    """Each job with its own options over those of the ``[global]`` sections before it; keys by ``canonical`` name."""
    shared: dict[str, Line] = {}
    jobs: list[Job] = []
    for section in sections:
        own = {canonical(line.key): line for line in section.lines}
        if section.is_global:
            shared = {**shared, **own}
        else:
            jobs.append(Job(section, {**shared, **own}))
    return jobs


def expanded(line: Line, environment: Mapping[str, str] = os.environ) -> str | None:
    """The value with ``${VAR}`` and fio's reserved words filled in; a variable that is not set is empty, as in fio."""
    if line.value is None:
        return None
    value = re.sub(r"\$\{(\w+)\}", lambda match: environment.get(match[1], ""), line.value)
    for word, amount in _reserved().items():
        if word in value:
            value = value.replace(word, str(amount()))
            if product := re.fullmatch(r"(\d+)\s*\*\s*(\d+)", value):
                value = str(int(product[1]) * int(product[2]))
    return value


def _reserved() -> dict[str, Callable[[], int]]:
    return {
        "$pagesize": lambda: os.sysconf("SC_PAGESIZE"),
        "$mb_memory": lambda: os.sysconf("SC_PAGESIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20),
        "$ncpus": lambda: os.cpu_count() or 1,
    }


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines without comments and blanks."""
    try:
        whole = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the job file: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the job file is not UTF-8 text: {error.reason} at byte {error.start}", file=path) from error
    for number, line in enumerate(whole.splitlines(), start=1):
        if text := re.split(r"[;#]", line, maxsplit=1)[0].strip():
            yield number, text


def _lines(text: str, path: Path, number: int, depth: int) -> Iterator[Line]:
    included = re.fullmatch(r"include[\s=]+(.+)", text)
    if included is None:
        key, equals, value = text.partition("=")
        yield Line(key.strip(), value.strip() if equals else None, path, number)
        return
    if depth == _DEEPEST:
        raise ConfigError("files that include each other", file=path, line=number)
    other = path.parent / included[1]
    if not other.exists():
        raise ConfigError(f"includes {included[1]}, which does not exist", file=path, line=number)
    for place, inner in _texts(other):
        if inner.startswith("["):
            raise ConfigError("an included file may hold no [section]", file=other, line=place)
        yield from _lines(inner, other, place, depth + 1)
