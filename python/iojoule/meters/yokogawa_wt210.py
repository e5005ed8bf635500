"""Yokogawa WT210, WT200 and WT230 power meters (element 1) in their IEEE 488.2 mode, over RS-232, GPIB or a gateway.

Commands: WT210/WT230 user's manual (IM 760401-01E), chapters 13 and 14: groups COMMUNICATE, CONFIGURE, INTEGRATE,
MEASURE, SAMPLE, STATUS. The old set of commands without 488.2 is another mode of the panel, and not spoken here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from iojoule.meters.base import Fatal, Reconnect
from iojoule.meters.dialogue import Dialogue
from iojoule.meters.visa import Link
from iojoule.meters.yokogawa import Item, Yokogawa
from iojoule.meters.yokogawa_config import YokogawaConfig, range_settings

#: The meter names itself by the code of its model.
MODELS = {"760401": "WT210", "760502": "WT230", "760503": "WT230", "253421": "WT200"}
#: Every item, in the order of an answer to ``:MEAS:VAL?``, whatever the order they were switched on.
ORDER = (
    "V", "A", "W", "VA", "VAR", "PF", "DEGR", "VHZ", "AHZ", "WH", "WHP", "WHM", "AH", "AHP", "AHM", "MATH",
    "VPK", "APK", "TIME",
)  # fmt: skip
CHANNELS = {"V": ("voltage", "V"), "A": ("current", "A"), "W": ("power", "W"), "APK": ("current_peak", "A")}
#: A line feed ends half a command that may stand in the meter's buffer.
CLEAR = ("\n*CLS", ":COMM:HEAD OFF", ":STAT:QMES ON")
INTEGRATING = 1 << 1


class YokogawaWt210Config(YokogawaConfig):
    RATES_S: ClassVar[Mapping[float, str]] = {0.1: "0.1", 0.25: "0.25", 0.5: "0.5", 1.0: "1", 2.0: "2", 5.0: "5"}
    # The DC accuracy is second-hand, see the manual page.
    ACCURACY_PCT: ClassVar[Mapping[str, tuple[float, float] | None]] = {
        "RMS": (0.1, 0.1),
        "VMEAN": (0.1, 0.1),
        "DC": (0.3, 0.2),
    }

    kind: Literal["yokogawa_wt210"] = "yokogawa_wt210"
    termination: Literal["\n", "\r\n"] = Field(default="\r\n", description="Line end, as set at the panel.")


class YokogawaWt210(Yokogawa):
    """Channels ``voltage``, ``current``, ``power`` of element 1."""

    Config: ClassVar[type[YokogawaWt210Config]] = YokogawaWt210Config
    HEADS: ClassVar[Mapping[str, str]] = {"V": ":CONF:VOLT", "A": ":CONF:CURR"}
    VALUES = ":MEAS:VAL?"
    # The end of an update, and nothing else, wakes the one who waits.
    EVENTS = (":STAT:FILT1 FALL", *(f":STAT:FILT{bit} NEVER" for bit in range(2, 16)))
    SETTLE_S = 0.2

    def shown(self) -> tuple[Item, ...]:
        on = {"V", "A", "W"} | ({"APK"} if self.config.finding else set())
        return tuple(Item(word, *CHANNELS[word]) for word in ORDER if word in on)

    def settings(self) -> list[tuple[str, str]]:
        config = self.config
        on = {item.word for item in self.items}
        return [
            (":SAMP:HOLD", "OFF"),
            (":SAMP:RATE", config.RATES_S[config.interval]),
            (":CONF:MODE", config.mode),
            (":CONF:CFAC", str(config.crest_factor)),
            (":CONF:LFILT", "OFF"),
            *range_settings(":CONF:VOLT", config.voltage_range, "V", _decimal),
            *range_settings(":CONF:CURR", config.current_range, "A", _decimal),
            (":CONF:AVER:STAT", "OFF"),
            (":CONF:MHOL", "OFF"),
            *((f":MEAS:ITEM:{word}", "ON" if word in on else "OFF") for word in ORDER),
        ]

    def greet(self, meter: Dialogue) -> dict[str, str]:
        self._clear(meter)
        meter.say(":COMM:REM ON")
        who = [word.strip() for word in meter.ask("*IDN?").split(",")]
        if len(who) != 4:
            raise Reconnect(f"*IDN?: {','.join(who)!r} is not maker, model, serial, firmware")
        code = next((code for code in MODELS if who[1].upper().removeprefix("MODEL ").startswith(code)), None)
        if who[0].upper() != "YOKOGAWA" or (code is None and who[1].upper() not in MODELS.values()):
            raise Fatal(f"{self.config.resource} is {','.join(who)!r}, not a WT200, WT210 or WT230")
        named = dict(zip(("maker", "model", "serial", "firmware"), who, strict=True))
        return named | ({"model": MODELS[code], "code": who[1]} if code else {})

    def _clear(self, meter: Dialogue) -> None:
        """The first try may find an answer that nobody fetched, and be told that it interrupted it."""
        error = ""
        for _ in range(2):
            for command in CLEAR:
                meter.say(command)
            try:
                error = self.error()
            except Reconnect as silence:
                raise Reconnect(f"{silence} (is the meter in its 488.2 mode?)") from silence
            if not error:
                return
        raise Reconnect(f"the meter cannot be cleared: {error}")

    def byte_on(self, link: Link) -> float:
        """Behind a gateway from the network there is a serial line as well."""
        return 0.0 if self.config.resource.upper().startswith("GPIB") else 10 / self.config.baud

    def integrating(self) -> bool:
        return bool(self.dialogue.register(":STAT:COND?") & INTEGRATING)

    def integral_wh(self) -> float:
        self.dialogue.say(":MEAS:ITEM:WH ON")
        words = [word for word in ORDER if word in {"V", "A", "W", "WH"}]
        return self.window(self.VALUES, len(words))[0][words.index("WH")]


def _decimal(value: float, unit: str) -> str:
    """``0.1A``: this series is given ranges without the prefix milli."""
    return f"{value:g}{unit}"
