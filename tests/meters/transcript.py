"""A dialogue as rows of (sent, answered); what is left over, or said out of turn, fails the test."""

from __future__ import annotations

from collections.abc import Iterable

Line = tuple[str, str | None]


class Transcript:
    """A link that knows what will be said, and fails on anything else."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)

    def write(self, command: str) -> None:
        assert self.lines.pop(0) == (command, None)

    def query(self, command: str, timeout_s: float | None = None) -> str:
        sent, answer = self.lines.pop(0)
        assert sent == command and answer is not None
        return answer

    def close(self) -> None:
        pass


def changed(lines: list[Line], sent: str, answer: str) -> list[Line]:
    """The transcript up to ``sent``, which is answered otherwise."""
    at = [line[0] for line in lines].index(sent)
    return [*lines[:at], (sent, answer)]
