"""What would be lost is shown before a campaign begins, and confirmed; what may not be written to is refused."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from iojoule.cli.confirm import confirm_destruction
from iojoule.errors import ConfigError, DeviceError
from iojoule.experiment.plan import Plan, plan_file


def plan(folder: Path, destroy: str, *, target: str = 'kind = "file"\npath = "big.img"', write: int = 100) -> Plan:
    (folder / "big.img").write_bytes(os.urandom(8192))
    file = folder / "x.toml"
    file.write_text(
        f'[experiment]\nname = "x"\ndestroy = [{destroy}]\n[[target]]\n{target}\n'
        f'[[workload]]\nkind = "block"\nwrite = {write}\n'
    )
    return plan_file(file)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "goes_on"), [("y\n", True), ("yes\n", True), ("\n", False), ("no\n", False)])
def test_a_person_is_asked(
    answer: str, goes_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    if goes_on:
        confirm_destruction(plan(tmp_path, '"big.img"'), yes=False)
    else:
        with pytest.raises(ConfigError, match="nothing was touched"):
            confirm_destruction(plan(tmp_path, '"big.img"'), yes=False)
    assert "big.img: file, 8.19 kB" in capsys.readouterr().err


def test_a_machine_must_say_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(ConfigError, match="--yes"):
        confirm_destruction(plan(tmp_path, '"big.img"'), yes=False)
    confirm_destruction(plan(tmp_path, '"big.img"'), yes=True)


def test_nothing_is_asked_where_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    confirm_destruction(plan(tmp_path, "", write=0), yes=False)
    confirm_destruction(plan(tmp_path, '"not-there.img"', target='kind = "file"\nsize = 4096'), yes=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("extra", ["", '\npurge = "step"', "\n[target.precondition]\npasses = 1"])
def test_what_is_not_named_is_refused_whoever_would_write_to_it(extra: str, tmp_path: Path) -> None:
    target = f'kind = "file"\npath = "big.img"{extra}'
    with pytest.raises(ConfigError, match="destroy"):
        confirm_destruction(plan(tmp_path, "", target=target, write=0 if extra else 100), yes=True)


def test_what_is_in_use_is_refused_before_anything_begins(tmp_path: Path) -> None:
    described = plan(tmp_path, '"big.img"')
    with (tmp_path / "big.img").open("rb"), pytest.raises(DeviceError, match=r"\[open\]"):
        confirm_destruction(described, yes=True)


def test_a_name_that_no_target_has_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_text("data")
    confirm_destruction(plan(tmp_path, '"other"', target='kind = "null"'), yes=True)
    assert "no target of this experiment has this path" in capsys.readouterr().err


def test_names_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    described = plan(tmp_path, '"big.img"')
    monkeypatch.chdir(elsewhere)
    confirm_destruction(described, yes=True)
