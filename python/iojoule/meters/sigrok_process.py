"""The program sigrok-cli, kept running: its lines, when they came, and its end.

Its standard output is read as it comes; half a line is nothing, and its last words on standard error say why it ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import tempfile
from typing import TYPE_CHECKING

from iojoule.meters import clock
from iojoule.meters.base import Fatal, RawLog, Reconnect

if TYPE_CHECKING:
    from iojoule.meters.sigrok import SigrokConfig


class SigrokProcess:
    """One sigrok-cli, kept running."""

    def __init__(self, config: SigrokConfig, raw: RawLog) -> None:
        self._config, self._raw = config, raw
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process

    def found(self) -> str:
        config = self._config
        try:
            shown = subprocess.run(
                [*self._command(), "--show"], stdin=subprocess.DEVNULL, capture_output=True, timeout=config.timeout
            )
        except FileNotFoundError:
            raise Fatal(f"this meter needs {config.command}: apt install sigrok-cli") from None
        except subprocess.TimeoutExpired:
            raise Reconnect(f"{config.device}: sigrok found nothing within {config.timeout:g} s") from None
        text = (shown.stdout + shown.stderr).decode(errors="replace")
        driver = re.escape(config.device.partition(":")[0])
        if not (match := re.search(rf"^{driver} - (.+)$", text, re.MULTILINE)):
            raise Reconnect(f"{config.device}: {text.strip().partition(chr(10))[0] or 'sigrok says nothing'}")
        return match[1]

    def _command(self) -> list[str]:
        return [self._config.command, "-d", self._config.device]

    def _start(self) -> subprocess.Popen[bytes]:
        options = ":".join(f"{key}={value}" for key, value in self._config.options.items())
        line = [*self._command(), *(["--config", options] if options else []), *self._config.limit, "-O", "analog"]
        self._raw.sent(" ".join(line).encode() + b"\n")
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said)

    def lines(self, deadline_ns: int) -> tuple[int, list[str]]:
        if self._process is None:
            self._process = self._start()
        assert self._process.stdout
        fd = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            rest_s = (deadline_ns - clock.now_ns()) * 1e-9
            if rest_s <= 0 or not select.select([fd], [], [], rest_s)[0]:
                return clock.now_ns(), []
            if not (data := os.read(fd, 1 << 16)):
                raise Reconnect(f"sigrok-cli ended with {self._process.wait()}: {self._last_words()}")
            self._raw.received(data)
            self._buffer += data
        at_ns = clock.now_ns()
        *whole, self._buffer = self._buffer.split(b"\n")
        return at_ns, [line.decode(errors="replace") for line in whole]

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip().rpartition("\n")[2] or "no word why"

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(2.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()
        with contextlib.suppress(OSError):
            self._said.close()
