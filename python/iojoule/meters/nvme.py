"""What an NVMe drive says of its own power, through nvme-cli: the power state it is in, and its own measurement if any.

Feature 02h (Power Management) and the power state descriptors: NVM Express Base Specification, Get Features and
Identify Controller. Power Measurement log, LID 25h: version 2.3, nvme-cli 3. A drive may ignore a requested state
(nvme-cli issue 1580), so what was asked for and what was seen are kept apart.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from iojoule.meters import clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry, read
from iojoule.meters.config import MeterConfig
from iojoule.quantities import Seconds

_STATE = re.compile(r"Current value:\s*(?:0x)?([0-9a-fA-F]+)")
#: A line of the log as nvme-cli prints it: label, then a colon or blanks, then the value.
_LINE = re.compile(r"^\s*(?P<label>[A-Z][\w ()/%]*?)\s*(?::|\s{2,}|\|)\s*(?P<value>\S.*?)\s*$", re.M)
_WATTS = re.compile(r"(\d+\.\d+)\s*W")
_ENABLED, _ESTIMATED = 1 << 0, 1 << 2
#: Watts of one unit, by the scale a descriptor states for its idle and active power.
_SCALES_W = {1: 1e-4, 2: 1e-2}


class NvmeConfig(MeterConfig):
    kind: Literal["nvme"] = "nvme"
    device: str = Field(pattern=r"^/dev/nvme\d+$", description="The controller, such as /dev/nvme0.")
    drive: str | None = Field(default=None, description="Kernel name of the drive, such as nvme0n1.")
    expected_state: int | None = Field(
        default=None, ge=0, le=31, description="The power state that was asked for; another one seen is told."
    )
    measured: Literal["auto", "yes", "no"] = Field(
        default="auto",
        description="Read the drive's own power measurement: where there is one, or else fail, or never.",
    )
    command: str = Field(default="nvme", description="The nvme-cli program.")
    timeout: Seconds = Field(default=5.0, description="How long one call of it may take.")


class Tool(Protocol):
    """Runs the program with arguments: exit code, stdout, stderr."""

    def run(self, *arguments: str) -> tuple[int, str, str]: ...


class NvmeCli:
    """The real program."""

    def __init__(self, command: str, timeout_s: float) -> None:
        self._command, self._timeout_s = command, timeout_s

    def run(self, *arguments: str) -> tuple[int, str, str]:
        try:
            done = subprocess.run(
                [self._command, *arguments], capture_output=True, text=True, timeout=self._timeout_s, check=False
            )
        except FileNotFoundError:
            raise Fatal(f"{self._command} is not installed: apt-get install nvme-cli") from None
        except OSError as error:
            raise Fatal(f"{self._command} cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired:
            raise Retry(f"{self._command} {' '.join(arguments)} took more than {self._timeout_s:g} s") from None
        return done.returncode, done.stdout, done.stderr


class Nvme(Bare):
    """Channel ``power_state``; where the drive measures itself, ``average_power`` too: the mean since its measurement
    was begun, which is no power of the moment and becomes no energy."""

    Config: ClassVar[type[NvmeConfig]] = NvmeConfig

    def __init__(self, config: NvmeConfig, raw: RawLog | None = None, link: Tool | None = None) -> None:
        self.config, self.raw, self.tool = config, raw or NoRawLog(), link or NvmeCli(config.command, config.timeout)
        self.poll_s = config.interval
        self.identity: dict[str, Any] = {}
        self.channels: list[Channel] = []
        self.log_command: tuple[str, ...] = ()
        self.seen: dict[int, int] = {}

    def configure(self) -> None:
        version = self._said("version").split()
        try:
            known = json.loads(text := self._said("id-ctrl", self.config.device, "--output-format=json"))
        except ValueError:
            raise Retry(f"id-ctrl: {text.strip()[:80]!r} is no JSON") from None
        states = [_state(descriptor) for descriptor in known.get("psds", [])]
        self.identity = {
            "device": self.config.device,
            "model": str(known.get("mn", "")).strip(),
            "serial": str(known.get("sn", "")).strip(),
            "firmware": str(known.get("fr", "")).strip(),
            "nvme_cli": version[2] if len(version) > 2 else "",
            "power_states": states,
            "expected_state": self.config.expected_state,
        }
        self.channels = [Channel("power_state", "power_state", "1", "device", "instant", drive=self.config.drive)]
        self.log_command = self._log() if self.config.measured != "no" else ()
        if self.log_command:
            measurement = self._measurement()
            u_rel = measurement["error_pct"] / 100 / math.sqrt(3) if measurement["error_pct"] else None
            boundary: Literal["modelled", "device"] = "modelled" if measurement["estimated"] else "device"
            self.identity["measurement"] = measurement
            self.channels.append(
                Channel(
                    "average_power", "average_power", "W", boundary, "instant", u_rel=u_rel, drive=self.config.drive
                )
            )
        self.observe()  # now, so that what is missing is found before the run

    def _log(self) -> tuple[str, ...]:
        """How this nvme-cli reads the power measurement log; empty where it or the drive cannot."""
        commands: tuple[tuple[str, ...], ...] = (("log", "power-measurement"), ("power-measurement-log",))
        for command in commands:
            code, text, error = self._call(*command, self.config.device)
            if code == 0 and "Average Interval Power" in text:
                return command
        if self.config.measured == "yes":
            raise Fatal(f"{self.config.device} gives no power measurement: {error.strip() or text.strip()}")
        return ()

    def describe(self) -> Description:
        return Description(self.identity, tuple(self.channels))

    def start(self) -> None:
        self.seen = {}

    def next(self, deadline_ns: int) -> list[Reading]:
        before_ns = clock.now_ns()
        state = self.observe()
        self.seen[state] = self.seen.get(state, 0) + 1
        readings = [self._reading(self.channels[0], before_ns, float(state))]
        if self.log_command:
            before_ns = clock.now_ns()
            now = self._measurement()
            flags: tuple[str, ...] = ("sentinel", "invalid") if now["watts"] is None or not now["enabled"] else ()
            flags += ("modelled",) if now["estimated"] else ()
            watts = math.nan if "invalid" in flags else now["watts"]
            readings.append(self._reading(self.channels[1], before_ns, watts, *flags))
        return readings

    @staticmethod
    def _reading(channel: Channel, before_ns: int, value: float, *flags: str) -> Reading:
        after_ns = clock.now_ns()
        middle_ns = (before_ns + after_ns) // 2
        return read(channel, middle_ns, middle_ns, int((after_ns - before_ns) / 2 / math.sqrt(3)), value, *flags)

    def observe(self) -> int:
        """The power state the drive is in."""
        text = self._said("get-feature", self.config.device, "--feature-id=2")
        if not (found := _STATE.search(text)):
            raise Retry(f"get-feature: {text.strip()[:80]!r} holds no value")
        return int(found[1], 16) & 0x1F

    def _measurement(self) -> dict[str, Any]:
        """The power measurement log as nvme-cli prints it."""
        text = self._said(*self.log_command, self.config.device)
        lines = {line["label"]: line["value"] for line in _LINE.finditer(text)}
        watts = _WATTS.match(lines.get("Average Interval Power", ""))
        try:
            attributes = int(lines.get("Power Measurement Attributes", "0").split()[0], 0)
            error_pct = int(lines.get("Interval Power Percent Error", "0"))
        except ValueError as error:
            raise Retry(f"power measurement log: {error}") from None
        return {
            "watts": float(watts[1]) if watts else None,
            "enabled": bool(attributes & _ENABLED),
            "estimated": bool(attributes & _ESTIMATED),
            "error_pct": error_pct,
        }

    def _call(self, *arguments: str) -> tuple[int, str, str]:
        self.raw.sent(" ".join(arguments).encode())
        code, text, error = self.tool.run(*arguments)
        self.raw.received(f"{code}\n{text}{error}".encode())
        return code, text, error

    def _said(self, *arguments: str) -> str:
        code, text, error = self._call(*arguments)
        if code == 0:
            return text
        reason = (error.strip() or text.strip()).partition("\n")[0]
        if "No such file" in reason or "No such device" in reason:
            raise Reconnect(f"{self.config.device} is not there: {reason}")
        if "Permission denied" in reason or "Operation not permitted" in reason:
            raise Fatal(f"{self.config.device} may not be asked by this user: {reason}")
        raise Retry(f"nvme {' '.join(arguments)}: {reason}")

    def stop(self) -> dict[str, Any] | None:
        """How often each state was seen, beside the one that was asked for."""
        seen = {str(state): count for state, count in sorted(self.seen.items())}
        document: dict[str, Any] = {"states_seen": seen, "expected_state": self.config.expected_state}
        if self.config.expected_state is not None:
            document["as_expected"] = set(self.seen) == {self.config.expected_state}
        return document

    def close(self) -> None:
        """Nothing is held open."""


def _state(descriptor: dict[str, Any]) -> dict[str, Any]:
    """A power state descriptor in watts and seconds; None where the drive reports nothing."""
    finer = descriptor.get("max_power_scale", descriptor.get("flags", 0) & 1)
    idle, active = (_SCALES_W.get(descriptor.get(f"{name}_scale", 0)) for name in ("idle", "active"))
    return {
        "max_w": descriptor.get("max_power", 0) * (1e-4 if finer else 1e-2),
        "idle_w": descriptor["idle_power"] * idle if idle else None,
        "active_w": descriptor["active_power"] * active if active else None,
        "operational": not descriptor.get("non-operational_state", descriptor.get("flags", 0) >> 1 & 1),
        "entry_s": descriptor.get("entry_lat", 0) * 1e-6,
        "exit_s": descriptor.get("exit_lat", 0) * 1e-6,
    }
