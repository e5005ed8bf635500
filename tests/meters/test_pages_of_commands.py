"""What a driver says to its meter is what the meter's manual page says it does, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import clock, parse_meter
from iojoule.meters.lab import front_class
from iojoule.meters.lab.load import Load, State
from iojoule.meters.modbus_registers import MODELS
from iojoule.meters.snmp_oids import TABLES, UNITS, Oid
from iojoule.meters.table import driver_class

ROOT = Path(__file__).resolve().parents[2]
FOUND = {"voltage_range": "find", "current_range": "find"}


def said(kind: str, **keys: Any) -> set[str]:
    """The commands of one short life, without their values; settings that are asked back are named once."""
    with clock.use(clock.SimClock()):
        front: Any = front_class(kind)(Load([State(18.0, 1.0)], 0), 0)
        make: Any = driver_class(kind)
        driver = make(parse_meter(front.section() | keys), link=front.link())
        driver.configure()
        driver.start()
        assert driver.next(0) and driver.next(0)
        driver.stop()
    assert not front.errors, "the meter does not know a command"
    return {heading(line) for line in front.heard}


def heading(line: str) -> str:
    return re.sub(r"(ITEM|FILT)\d+", r"\1n", line.partition(" ")[0])


def told(commands: set[str]) -> set[str]:
    """Without the questions that only ask a setting back."""
    return {each for each in commands if not (each.endswith("?") and each[:-1] in commands)}


@pytest.mark.parametrize("kind", ["yokogawa_wt210", "yokogawa_wt310"])
def test_the_page_has_every_command_that_is_sent_and_none_that_is_not(kind: str) -> None:
    page = (ROOT / f"docs/meters/{kind}.md").read_text().partition("## The dialogue")[2]
    block = page.partition("```text\n")[2].partition("```")[0].replace("\\n*CLS", "*CLS")
    on_the_page = {heading(word) for word in re.findall(r"[:*][A-Z][A-Z0-9:]*\??", block)}
    assert told(on_the_page) == told(said(kind) | said(kind, **FOUND))


def rows(kind: str, head: str) -> list[list[str]]:
    """Cells of the table of a page that begins with ``head``, without marks of code."""
    table = (ROOT / f"docs/meters/{kind}.md").read_text().partition(f"| {head} |")[2].partition("\n\n")[0]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_page_of_pdus_has_the_objects_that_are_asked_for() -> None:
    def worth(one: Oid) -> str:
        if one.digits:
            return "by its decimal digits"
        return f"{one.scale / 3600:g} Wh" if one.quantity == "energy" else f"{one.scale:g} {UNITS[one.quantity]}"

    assert rows("snmp_pdu", "model") == [
        [model, of, one.quantity, one.oid.format(unit="U", outlet="N").removeprefix("1.3.6.1.4.1."), worth(one)]
        for model, table in TABLES.items()
        for of, objects in (("the PDU", table.whole), ("an outlet", table.outlet))
        for one in objects
    ]


def test_the_page_of_modbus_has_the_registers_that_are_read() -> None:
    shown: dict[str, dict[str, int]] = {model: {} for model in MODELS}
    for name, *cells in rows("modbus", "number"):
        for models, cell in zip((("sdm120", "sdm230"), ("sdm630",), ("sdm72",)), cells, strict=True):
            for model in models if cell else ():
                shown[model][name.partition(" ")[0]] = int(cell.partition(" ")[0], 16)
    assert shown == {model: {name: n.address for name, n in one.numbers.items()} for model, one in MODELS.items()}
