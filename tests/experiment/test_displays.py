"""A display is asked for at each step; what it showed at the first is not what it shows at the second."""

from __future__ import annotations

from pathlib import Path

from iojoule.experiment import displays
from iojoule.experiment.displays import nobody
from iojoule.meters import parse_meter
from iojoule.meters.manual import ManualConfig, noted

WALL = parse_meter({"kind": "manual", "name": "wall", "unit": "Wh", "resolution": 1, "start": 100.0})
OPEN = parse_meter({"kind": "manual", "name": "open", "unit": "Wh", "resolution": 1})
FILED = parse_meter({"kind": "manual", "name": "filed", "unit": "Wh", "resolution": 1, "notes": "a.notes"})
OTHER = parse_meter({"kind": "constant", "watts": 5, "u_w": 1, "source": "label"})


class Person:
    def __init__(self, *says: float | None) -> None:
        self.says, self.heard = list(says), list[tuple[str, str]]()

    def __call__(self, config: ManualConfig, when: str) -> float | None:
        self.heard.append((config.name, when))
        return self.says.pop(0)


def starts(configs: list) -> list[float | None]:  # type: ignore[type-arg]
    return [config.start for config in configs if isinstance(config, ManualConfig)]


def test_what_the_experiment_says_it_shows_is_of_the_first_step_alone() -> None:
    """Taken for the second step too, its energy would be that of both."""
    assert starts(displays.before([WALL], nobody)) == [100.0]
    assert starts(displays.before([WALL], nobody, first=False)) == [None]


def test_a_person_is_asked_for_what_is_not_known() -> None:
    person = Person(7.0)
    found = displays.before([WALL, OPEN, FILED, OTHER], person)
    assert (starts(found), person.heard) == ([100.0, 7.0, None], [("open", "now")])
    assert found[-1] is OTHER
    person = Person(130.0, 9.0)
    assert starts(displays.before([WALL, OPEN], person, first=False)) == [130.0, 9.0]


def test_what_is_said_at_the_end_is_noted_for_the_meter_and_silence_is_not(tmp_path: Path) -> None:
    displays.after([WALL, OPEN, OTHER], tmp_path, Person(131.5, None))
    assert [value for _, value in noted(tmp_path / "raw" / "wall.notes")] == [131.5]
    assert not (tmp_path / "raw" / "open.notes").exists()
