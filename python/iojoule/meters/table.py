"""The drivers there are. A new instrument is one file, one line here, its test and its manual page."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iojoule.meters.base import Driver
    from iojoule.meters.config import MeterConfig

DRIVERS = {
    "constant": "iojoule.meters.constant:Constant",
    "hwmon": "iojoule.meters.hwmon:Hwmon",
    "ipmi": "iojoule.meters.ipmi:Ipmi",
    "keithley_2700": "iojoule.meters.keithley_2700:Keithley2700",
    "keysight_34970a": "iojoule.meters.keysight_34970a:Keysight34970a",
    "log_file": "iojoule.meters.log_file:LogFile",
    "manual": "iojoule.meters.manual:Manual",
    "modbus": "iojoule.meters.modbus:Modbus",
    "nvme": "iojoule.meters.nvme:Nvme",
    "perf_energy": "iojoule.meters.perf_energy:PerfEnergy",
    "powercap": "iojoule.meters.powercap:Powercap",
    "ptdaemon": "iojoule.meters.ptdaemon:Ptdaemon",
    "quarch": "iojoule.meters.quarch:Quarch",
    "redfish": "iojoule.meters.redfish:Redfish",
    "remote": "iojoule.meters.remote:Remote",
    "scpi": "iojoule.meters.scpi:Scpi",
    "shelly": "iojoule.meters.shelly:Shelly",
    "sigrok": "iojoule.meters.sigrok:Sigrok",
    "snmp_pdu": "iojoule.meters.snmp_pdu:SnmpPdu",
    "tasmota": "iojoule.meters.tasmota:Tasmota",
    "utilisation": "iojoule.meters.utilisation:Utilisation",
    "yokogawa_wt210": "iojoule.meters.yokogawa_wt210:YokogawaWt210",
    "yokogawa_wt310": "iojoule.meters.yokogawa_wt310:YokogawaWt310",
}


def driver_class(kind: str) -> type[Driver]:
    """The driver named ``kind``, imported now; ValueError with the nearest name when there is none."""
    if not isinstance(kind, str) or kind not in DRIVERS:
        near = get_close_matches(str(kind), DRIVERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown meter kind {kind!r}{hint} (there are: {', '.join(DRIVERS)})")
    module, _, name = DRIVERS[kind].partition(":")
    found: type[Driver] = getattr(importlib.import_module(module), name)
    return found


def meter_config_models() -> dict[str, type[MeterConfig]]:
    """The model of each kind's ``[[meter]]`` section."""
    return {kind: driver_class(kind).Config for kind in DRIVERS}


def parse_meter(raw: dict[str, Any]) -> MeterConfig:
    """The checked configuration of one ``[[meter]]`` section; pydantic's ValidationError or ValueError otherwise."""
    if "kind" not in raw:
        raise ValueError(f"a meter needs a kind, one of: {', '.join(DRIVERS)}")
    config: MeterConfig = driver_class(raw["kind"]).Config.model_validate(raw)
    return config
