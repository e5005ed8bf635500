"""``iojoule trace convert`` and ``head``: what reaches the command line and Python."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iojoule import _native
from iojoule.cli import main
from iojoule.errors import ConfigError

SPC = "0,303567,3584,w,0.000000\n1,55590,3072,w,0.000000\n0,303574,3584,w,0.026214\n1,55596,3072,r,0.078643\n"


@pytest.fixture
def spc(tmp_path: Path) -> Path:
    path = tmp_path / "disk.spc"
    path.write_text(SPC)
    return path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main([*words])
    return int(left.value.code or 0)


def test_a_converted_trace_is_the_canonical_table(spc: Path, tmp_path: Path) -> None:
    output = tmp_path / "disk.parquet"
    progress = _native.TraceProgress()
    answer = json.loads(_native.trace_convert(json.dumps({"paths": [str(spc)], "output": str(output)}), progress))
    assert (answer["requests"], answer["to"], answer["read"]["files"][0]["format"]) == (4, "parquet", "spc")
    assert progress.bytes_read() == len(SPC)
    table = pq.read_table(output)
    assert table.column_names == ["at_ns", "device", "op", "offset", "bytes", "asynchronous", "response_ns"]
    assert table["at_ns"].to_pylist() == [0, 0, 26_214_000, 78_643_000]
    assert table["op"].to_pylist() == ["write", "write", "write", "read"]
    assert table["offset"].to_pylist()[0] == 303_567 * 512
    metadata = pq.read_metadata(output).metadata
    assert metadata[b"iojoule.kind"] == b"blocktrace"


def test_head_shows_the_first_requests(spc: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", "head", "-n", "3", str(spc)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "format spc (plain)"
    assert lines[4].split() == ["0.026214", "0", "write", "155429888", "3584"]
    assert run("trace", "head", "-n", "1", "--json", str(spc)) == 0
    assert json.loads(capsys.readouterr().out)["requests"][0]["bytes"] == 3584


def test_convert_selects_and_says_what_it_left_out(
    spc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.csv"
    assert run("trace", "convert", str(spc), "-o", str(output), "--device", "0", "--concatenate") == 0
    said = capsys.readouterr().out
    assert "2 requests" in said and "2 other device" in said and "rounded up to 1 MiB" in said
    assert output.read_text().splitlines()[1] == "0,0,write,155426304,3584,,"
    assert run("trace", "convert", str(spc), "-o", str(output)) == 2
    assert "--force" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--remap", "wrap"], "given together"),
        (["--thin-seed", "1"], "needs --thin"),
        (["--since", "soon"], "since"),
        (["--device-size", "x=1GiB"], "number of a device"),
        (["--time-scale", "0"], "not above 0"),
        (["--device-size", "1MiB"], "line 1: bytes 155426304 to 155429888 of device 0 are beyond its end"),
    ],
)
def test_bad_options_are_config_errors(
    words: list[str], reason: str, spc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trace", "convert", str(spc), "-o", str(tmp_path / "o.parquet"), *words) == 2
    assert reason in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk.spc"]


def test_a_broken_trace_is_a_config_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.spc"
    path.write_text(SPC + "0,1,512,r,-1.0\n")
    with pytest.raises(ConfigError, match=r"line 5: the timestamp is .*negative"):
        _native.trace_head(json.dumps({"paths": [str(path)], "requests": 10}))
