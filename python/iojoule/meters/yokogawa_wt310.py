"""Yokogawa WT310, WT310E, WT332E and WT333E power meters (element 1), through VISA.

Commands: WT300 series communication manual (IM WT310-17EN): groups COMM, INPUT, INTEGRATE, NUMERIC, RATE, STATUS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from iojoule.meters.base import Fatal, Reconnect
from iojoule.meters.dialogue import Dialogue
from iojoule.meters.yokogawa import Item, Yokogawa
from iojoule.meters.yokogawa_config import YokogawaConfig, range_settings

#: What every answer to ``:NUM:NORM:VAL?`` holds, in order. A peak is a channel only while ranges are looked for.
ITEMS = (
    Item("U", "voltage", "V"),
    Item("I", "current", "A"),
    Item("P", "power", "W"),
    Item("LAMB", "power_factor", "1"),
    Item("IPP"),
    Item("WH"),
)
GREETING = ("*CLS", ":COMM:REM ON", ":COMM:HEAD OFF", ":COMM:VERB OFF")


class YokogawaWt310Config(YokogawaConfig):
    RATES_S: ClassVar[Mapping[float, str]] = {
        0.1: "100MS",
        0.25: "250MS",
        0.5: "500MS",
        1.0: "1S",
        2.0: "2S",
        5.0: "5S",
    }
    ACCURACY_PCT: ClassVar[Mapping[str, tuple[float, float] | None]] = {
        "RMS": (0.1, 0.05),
        "VMEAN": (0.1, 0.05),
        "DC": None,
    }

    kind: Literal["yokogawa_wt310"] = "yokogawa_wt310"


class YokogawaWt310(Yokogawa):
    """Channels ``voltage``, ``current``, ``power``, ``power_factor`` of element 1."""

    Config: ClassVar[type[YokogawaWt310Config]] = YokogawaWt310Config
    HEADS: ClassVar[Mapping[str, str]] = {"V": ":INP:VOLT", "A": ":INP:CURR"}
    VALUES = ":NUM:NORM:VAL?"

    def shown(self) -> tuple[Item, ...]:
        peak = Item("IPP", "current_peak", "A")
        return tuple(peak if self.config.finding and item.word == peak.word else item for item in ITEMS)

    def settings(self) -> list[tuple[str, str]]:
        config = self.config
        return [
            (":NUM:FORM", "ASCII"),
            (":NUM:NORM:NUM", str(len(ITEMS))),
            *((f":NUM:NORM:ITEM{number}", f"{item.word},1") for number, item in enumerate(ITEMS, start=1)),
            (":RATE", config.RATES_S[config.interval]),
            (":INP:MODE", config.mode),
            (":INP:CFAC", str(config.crest_factor)),
            (":INP:FILT:LINE", "OFF"),
            *range_settings(":INP:VOLT", config.voltage_range, "V"),
            *range_settings(":INP:CURR", config.current_range, "A"),
            (":MEAS:AVER:STAT", "OFF"),
            (":MEAS:MHOL", "OFF"),
        ]

    def greet(self, meter: Dialogue) -> dict[str, str]:
        who = meter.ask("*IDN?").split(",")
        if len(who) != 4:
            raise Reconnect(f"*IDN?: {','.join(who)!r} is not maker, model, serial, firmware")
        if who[0].upper() != "YOKOGAWA" or not who[1].upper().startswith(("WT310", "WT33")):
            raise Fatal(f"{self.config.resource} is {','.join(who)!r}, not a WT310 or WT330")
        for command in GREETING:
            meter.say(command)
        return dict(zip(("maker", "model", "serial", "firmware"), who, strict=True))

    def integrating(self) -> bool:
        return self.dialogue.ask(":INTEG:STAT?").upper().startswith("STAR")

    def integral_wh(self) -> float:
        return self.window(f"{self.VALUES} {len(ITEMS)}", 1)[0][0]
