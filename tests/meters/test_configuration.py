"""A meter's section of an experiment is strict, names what is near, and survives a trip through JSON."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from iojoule.meters import meter_config_models, parse_meter

PAGES = Path(__file__).resolve().parents[2] / "docs" / "meters"

WT310: dict[str, object] = {
    "kind": "yokogawa_wt310",
    "resource": "TCPIP::192.0.2.7::INSTR",
    "voltage_range": 300,
    "current_range": 0.5,
}


def on_its_page(kind: str) -> Iterator[dict[str, Any]]:
    """The sections that the manual shows of a driver, each under the name of its kind."""
    for block in re.findall(r"```toml[^\n]*\n(.*?)```", (PAGES / f"{kind}.md").read_text(), re.DOTALL):
        for section in tomllib.loads(block).get("meter", []):
            if section["kind"] == kind:
                yield {key: value for key, value in section.items() if key != "name"}


SECTIONS: list[dict[str, object]] = [
    {"kind": "powercap"},
    {"kind": "hwmon"},
    {"kind": "utilisation", "idle_w": 30, "u_rel": 0.2},
    WT310,
    WT310 | {"kind": "yokogawa_wt210", "voltage_range": "find", "current_range": "find"},
    {
        "kind": "scpi",
        "resource": "TCPIP0::192.0.2.7::5025::SOCKET",
        "identity": "ACME",
        "setup": [["*RST"], ["OUTP ON", "OUTP?", "1"]],
        "read": "MEAS:POW?",
        "update": "100ms",
        "channels": [{"id": "power", "boundary": "dc_rail", "accuracy": [0.1, 0.1, 60]}],
    },
    {"kind": "sigrok", "device": "demo", "channels": [{"id": "a0", "shows": "A0", "boundary": "modelled"}]},
    *(section for kind in meter_config_models() for section in on_its_page(kind)),
]


def test_every_driver_has_a_section_here_or_on_its_page() -> None:
    assert set(meter_config_models()) == {section["kind"] for section in SECTIONS}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: str(section["kind"]))
def test_json_gives_the_same_meter_back(section: dict[str, object]) -> None:
    config = parse_meter(section)
    assert parse_meter(json.loads(config.model_dump_json())) == config
    assert config.name == section["kind"]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: str(section["kind"]))
def test_an_unknown_key_is_an_error(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="intervall"):
        parse_meter(section | {"intervall": 1})


def test_times_may_have_a_unit() -> None:
    assert parse_meter({"kind": "powercap", "interval": "250ms"}).interval == 0.25
    assert parse_meter({"kind": "powercap", "interval": 2}).interval == 2.0


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'powercap'"):
        parse_meter({"kind": "powercab"})


def test_a_meter_has_a_kind() -> None:
    with pytest.raises(ValueError, match="needs a kind"):
        parse_meter({"name": "wall"})


@pytest.mark.parametrize("name", ["../wall", "", "a b"])
def test_a_name_is_fit_for_a_file(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        parse_meter({"kind": "powercap", "name": name})


def test_a_rate_the_meter_has_not_is_refused() -> None:
    with pytest.raises(ValidationError, match="100MS, 250MS, 500MS, 1S, 2S, 5S"):
        parse_meter(WT310 | {"interval": "300ms"})


@pytest.mark.parametrize("interval", [0, "0s", -1, "-250ms"])
def test_time_between_two_readings_is_above_zero(interval: object) -> None:
    with pytest.raises(ValidationError, match="interval"):
        parse_meter({"kind": "powercap", "interval": interval})
