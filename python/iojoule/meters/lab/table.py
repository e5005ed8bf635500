"""The fronts there are: one file and one line each. The name of a front is that of the driver that reads it, and more
where one driver reads several."""

from __future__ import annotations

import importlib
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iojoule.meters.lab.front import Front

FRONTS = {
    "hwmon": "iojoule.meters.lab.hwmon:HwmonFront",
    "ipmi": "iojoule.meters.lab.ipmi:IpmiFront",
    "keithley_2700": "iojoule.meters.lab.keithley_2700:Keithley2700Front",
    "keysight_34970a": "iojoule.meters.lab.keysight_34970a:Keysight34970aFront",
    "log_file": "iojoule.meters.lab.log_file:LogFileFront",
    "modbus": "iojoule.meters.lab.modbus:ModbusFront",
    "modbus_rtu": "iojoule.meters.lab.modbus:ModbusRtuFront",
    "manual": "iojoule.meters.lab.manual:ManualFront",
    "powercap": "iojoule.meters.lab.powercap:PowercapFront",
    "ptdaemon": "iojoule.meters.lab.ptdaemon:PtdaemonFront",
    "redfish": "iojoule.meters.lab.redfish:RedfishFront",
    "redfish_power": "iojoule.meters.lab.redfish:RedfishPowerFront",
    "redfish_sensor": "iojoule.meters.lab.redfish:RedfishSensorFront",
    "remote": "iojoule.meters.lab.remote:RemoteFront",
    "scpi": "iojoule.meters.lab.scpi_supply:ScpiFront",
    "scpi_dmm": "iojoule.meters.lab.scpi_dmm:ScpiDmmFront",
    "shelly": "iojoule.meters.lab.shelly:ShellyFront",
    "shelly_gen1": "iojoule.meters.lab.shelly:ShellyGen1Front",
    "sigrok": "iojoule.meters.lab.sigrok:SigrokFront",
    "snmp_pdu": "iojoule.meters.lab.snmp_pdu:RaritanFront",
    "snmp_pdu_apc": "iojoule.meters.lab.snmp_pdu:ApcFront",
    "snmp_pdu_eaton": "iojoule.meters.lab.snmp_pdu:EatonFront",
    "tasmota": "iojoule.meters.lab.tasmota:TasmotaFront",
    "tasmota_http": "iojoule.meters.lab.tasmota:TasmotaHttpFront",
    "yokogawa_wt210": "iojoule.meters.lab.yokogawa_wt210:Wt210Front",
    "yokogawa_wt210_serial": "iojoule.meters.lab.yokogawa_wt210:Wt210SerialFront",
    "yokogawa_wt310": "iojoule.meters.lab.yokogawa_wt310:Wt310Front",
}


def front_class(name: str) -> type[Front]:
    """The front named ``name``; ValueError with the nearest name when there is none."""
    if name not in FRONTS:
        near = get_close_matches(name, FRONTS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no front is named {name!r}{hint} (there are: {', '.join(FRONTS)})")
    module, _, cls = FRONTS[name].partition(":")
    found: type[Front] = getattr(importlib.import_module(module), cls)
    return found
