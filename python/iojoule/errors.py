"""The one tree of errors, sorted by who can help: author of the file, administrator, person at the bench, us.

Every error knows its exit code and can say itself as one JSON document, so that `--json` prints errors the same way it
prints results. See the manual, "Errors and exit codes".
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar


class Exit(IntEnum):
    """What the command's exit code tells the caller."""

    FINE = 0
    CHECK_FAILED = 1
    CONFIG = 2
    HOST = 3
    RUN_FAILED = 4
    INTERNAL = 101
    TIMED_OUT = 124
    INTERRUPTED = 130


class IojouleError(Exception):
    """What every error of iojoule is; catch this one to catch them all."""

    exit_code: ClassVar[int] = Exit.INTERNAL

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message

    def fields(self) -> dict[str, Any]:
        """What the error knows besides its message; empty fields are left out of the document."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """The document `--json` prints: `{"error": {"class", "message", "exit", ...}}`."""
        known = {key: value for key, value in self.fields().items() if value not in (None, "", [], ())}
        return {
            "error": {"class": type(self).__name__, "message": str(self), "exit": int(self.exit_code), **known},
        }


class ConfigError(IojouleError):
    """The file or the command line asks for something that cannot be: its author can help."""

    exit_code: ClassVar[int] = Exit.CONFIG

    def __init__(
        self,
        message: str,
        *,
        key: str | None = None,
        value: object = None,
        allowed: Iterable[str] | str | None = None,
        nearest: str | None = None,
        file: str | Path | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.key = key
        self.value = value
        self.allowed: str | list[str] | None = allowed if allowed is None or isinstance(allowed, str) else list(allowed)
        self.nearest = nearest
        self.file = None if file is None else str(file)
        self.line = line

    @classmethod
    def unknown_key(
        cls, key: str, allowed: Iterable[str], *, file: str | Path | None = None, line: int | None = None
    ) -> ConfigError:
        """A key that no one reads, with the nearest one that is read."""
        names = sorted(set(allowed))
        close = get_close_matches(key.rsplit(".", 1)[-1], names, n=1, cutoff=0.5)
        return cls(
            f"unknown key '{key}'",
            key=key,
            allowed=names,
            nearest=close[0] if close else None,
            file=file,
            line=line,
        )

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        text = f"{place}{self.message}"
        if self.nearest:
            text += f"; did you mean '{self.nearest}'?"
        if self.allowed:
            names = self.allowed if isinstance(self.allowed, str) else ", ".join(self.allowed)
            text += f" (allowed: {names})"
        return text

    def fields(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "value": self.value if isinstance(self.value, str | int | float | bool | None) else repr(self.value),
            "allowed": self.allowed,
            "nearest": self.nearest,
            "file": self.file,
            "line": self.line,
        }


class HostError(IojouleError):
    """This machine lacks something: the administrator can give it, and `remedy` is the command that does."""

    exit_code: ClassVar[int] = Exit.HOST

    def __init__(self, message: str, *, missing: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.missing = missing
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message

    def fields(self) -> dict[str, Any]:
        return {"missing": self.missing, "remedy": self.remedy}


class DeviceError(IojouleError):
    """An instrument or a drive does not do as it should: the person at the bench can help."""

    exit_code: ClassVar[int] = Exit.HOST

    def __init__(self, message: str, *, retryable: bool = False, device: str | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.device = device

    def fields(self) -> dict[str, Any]:
        return {"retryable": self.retryable, "device": self.device}


class RunFailed(IojouleError):  # noqa: N818 - the name is the field's and is what a reader of the log greps for
    """The run did not reach its end; its folder holds what was recorded and says where it stopped."""

    exit_code: ClassVar[int] = Exit.RUN_FAILED

    def __init__(self, message: str, *, folder: str | Path | None = None) -> None:
        super().__init__(message)
        self.folder = None if folder is None else str(folder)

    def __str__(self) -> str:
        return f"{self.message}\n  folder: {self.folder}" if self.folder else self.message

    def fields(self) -> dict[str, Any]:
        return {"folder": self.folder}


class InternalError(IojouleError):
    """A fault of iojoule itself, such as a panic of the engine: please report it."""

    exit_code: ClassVar[int] = Exit.INTERNAL
