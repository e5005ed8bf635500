"""A journal tells what is not undone yet, whatever of it was lost, and what is left of it after a restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iojoule.host import restore as restoring
from iojoule.host.journal import NAME, Change, Journal, journals, unrestored
from iojoule.host.restore import pending, restore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "raw" / NAME


def test_what_is_marked_restored_is_not_told(path: Path) -> None:
    with Journal(path) as journal:
        first, second = journal.begin("loop", path="a"), journal.begin("loop", path="b")
        journal.mark(second, "settled")
        journal.mark(first, "restored")
    (left,) = unrestored(path)
    assert (left.facts, left.states) == ({"path": "b"}, ("settled",))


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_torn_by_a_kill_hides_no_other(path: Path, cut: int) -> None:
    with Journal(path) as journal:
        journal.begin("loop", path="a")
        whole = path.read_bytes()
        journal.begin("loop", path="torn")
    path.write_bytes(path.read_bytes()[: len(whole) + cut])
    with Journal(path) as journal:
        journal.begin("loop", path="b")
    assert [change.facts["path"] for change in unrestored(path)] == ["a", "b"]


def test_journals_are_found_from_the_run_the_campaign_and_the_folder_of_campaigns(tmp_path: Path) -> None:
    campaign = tmp_path / "runs" / "20260101T000000Z_x_1"
    run = campaign / "runs" / "000_a_b_r1"
    for place in (run / "raw", campaign / "targets"):
        Journal(place / NAME).close()
    assert len(journals([run])) == 1
    assert len(journals([campaign])) == len(journals([tmp_path / "runs"])) == 2


def test_changes_are_undone_newest_first_over_all_journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undone = []

    def undo(change: Change, journal: Journal, force: bool) -> tuple[str, str]:
        undone.append(change.facts["path"])
        return "restored", ""

    monkeypatch.setitem(restoring._UNDO, "loop", undo)
    with Journal(tmp_path / "raw" / NAME) as run, Journal(tmp_path / "targets" / NAME) as shared:
        for name, journal in [("1", shared), ("2", run), ("3", shared), ("4", run)]:
            journal.begin("loop", path=name)
    restore([tmp_path])
    assert undone == ["4", "3", "2", "1"]
    assert restore([tmp_path]) == []


def test_settings_did_not_outlive_a_restart_of_the_machine(tmp_path: Path, path: Path) -> None:
    attribute = tmp_path / "queue" / "read_ahead_kb"
    attribute.parent.mkdir()
    attribute.write_text("64\n")
    facts = {"disk": "sdz", "folder": str(tmp_path), "entry": 1, "places": {"read_ahead_kb": str(attribute)}}
    with Journal(path) as journal:
        journal.begin("settings", **facts, old={"read_ahead_kb": "128"}, new={"read_ahead_kb": "64"})
    line = json.loads(path.read_text())
    path.write_text(json.dumps(line | {"boot": "another"}) + "\n")
    assert len(pending([tmp_path])) == 1
    assert [outcome.result for outcome in restore([tmp_path])] == ["gone"]
    assert attribute.read_text() == "64\n"


def test_a_file_that_took_the_place_of_one_that_was_made_is_not_removed(tmp_path: Path, path: Path) -> None:
    made = tmp_path / "made.img"
    made.write_text("ours")
    found = made.stat()
    with Journal(path) as journal:
        journal.begin("made", path=str(made), device=found.st_dev, inode=found.st_ino)
    other = tmp_path / "other"
    other.write_text("theirs")
    other.replace(made)
    assert [outcome.result for outcome in restore([tmp_path])] == ["gone"]
    assert made.read_text() == "theirs"


def test_a_change_of_a_later_version_is_left(tmp_path: Path, path: Path) -> None:
    with Journal(path) as journal:
        journal.begin("hologram", path="x")
    assert [outcome.result for outcome in restore([tmp_path])] == ["left"]
