"""A file is told from a later one with its number, so that nobody's file is taken for one that a campaign made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iojoule.host.identity import identity_of, is_still
from iojoule.host.journal import NAME, Journal
from iojoule.host.restore import restore
from iojoule.targets.made import is_ours


def facts_of(path: Path) -> dict[str, int | None]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return identity_of(descriptor)
    finally:
        os.close(descriptor)


def test_a_file_is_itself_by_every_name_and_no_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    (tmp_path / "link").hardlink_to(one)
    assert is_still(tmp_path / "link", facts_of(one))
    assert not is_still(other, facts_of(one))
    assert not is_still(tmp_path / "none", facts_of(one))


def test_a_file_with_the_number_of_a_removed_one_is_neither_ours_nor_removed(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    path = tmp_path / "file.img"
    path.write_text("made by a campaign")
    facts = facts_of(path)
    if facts["generation"] is None:
        pytest.skip("this file system keeps no generation")
    with Journal(campaign / "targets" / NAME) as journal:
        journal.begin("made", path=str(path), **facts | {"generation": facts["generation"] ^ 1})
    assert not is_ours(path, campaign / "targets")
    assert [outcome.result for outcome in restore([campaign])] == ["gone"]
    assert path.exists()
