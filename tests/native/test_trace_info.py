"""``iojoule trace info`` on real traces, beside plain loops over the same requests read in another way."""

from __future__ import annotations

import csv
import json
import struct
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, NamedTuple

import pytest

from iojoule import _native
from iojoule.cli import main
from iojoule.errors import ConfigError


class Io(NamedTuple):
    """One request, read by the few lines below and not by the engine."""

    at_ns: int
    device: int
    read: bool
    offset: int
    bytes: int
    asynchronous: bool | None


def hplajw(folder: Path) -> Iterator[Io]:
    with (folder / "cello_srt/ajw_decoded.csv").open() as file:
        for row in csv.DictReader(file):
            flags, seconds = int(row["ioflags_hex"], 16), row["enqueue_s"].partition(".")
            at_ns = int(seconds[0]) * 10**9 + int(seconds[2].ljust(9, "0"))
            place, size = int(row["sector"]) * 256, int(row["bytes"])
            yield Io(at_ns, int(row["device"]), flags & 1 == 1, place, size, flags & 0x100 != 0)


def cloudphysics(folder: Path) -> Iterator[Io]:
    data = (folder / "cloudphysics/cloudPhysicsIO.vscsi").read_bytes()
    first = None
    for _, size, _, command, _, block, at_us in struct.iter_unpack("<IIIHHQQ", data):
        first = at_us if first is None else first
        yield Io((at_us - first) * 1000, 0, command == 0x28, block * 512, size, None)


def tpcc_small(folder: Path) -> Iterator[Io]:
    first = None
    for line in (folder / "mqsim/tpcc-small.trace").read_text().splitlines():
        at_ns, device, sector, sectors, kind = map(int, line.split())
        first = at_ns if first is None else first
        yield Io(at_ns - first, device, kind == 1, sector * 512, sectors * 512, None)


TRACES = {
    "cello_srt/ajw.1week.srt": hplajw,
    "cloudphysics/cloudPhysicsIO.vscsi": cloudphysics,
    "mqsim/tpcc-small.trace": tpcc_small,
}


def info(path: Path, **asked: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_native.trace_info(json.dumps({"paths": [str(path)], **asked})))
    return answer


def table_3(ios: list[Io], sizes: dict[int, int], block: int) -> dict[str, Any]:
    """The rows of Table 3, each by the shortest loop there is for it."""
    reach = {
        device: max(io.offset + io.bytes for io in ios if io.device == device) for device in {io.device for io in ios}
    }
    size = {device: max(end, sizes.get(device, 0)) for device, end in sorted(reach.items())}
    base = {device: sum(size[lower] for lower in size if lower < device) for device in size}
    start = [base[io.device] + io.offset for io in ios]
    moved = [abs(start[n + 1] - (start[n] + ios[n].bytes)) for n in range(len(ios) - 1)]
    written: dict[tuple[int, int], int] = {}
    again = 0
    sectors: set[tuple[int, int]] = set()
    for io in ios:
        blocks = [(io.device, n) for n in range(io.offset // block, (io.offset + io.bytes - 1) // block + 1)]
        if not io.read:
            written |= dict.fromkeys(blocks, io.at_ns)
        elif any(io.at_ns - written.get(one, -(10**18)) < 3600 * 10**9 for one in blocks):
            again += 1
        sectors |= {(io.device, n) for n in range(io.offset // 512, (io.offset + io.bytes - 1) // 512 + 1)}
    duration_s = (ios[-1].at_ns - ios[0].at_ns) / 1e9
    return {
        "ios": len(ios),
        "duration_s": duration_s,
        "rate_per_s": len(ios) / duration_s,
        "data_bytes": sum(size.values()),
        "footprint_bytes": len(sectors) * 512,
        "reads": sum(io.read for io in ios) / len(ios),
        "async_writes": None
        if any(io.asynchronous is None for io in ios)
        else sum(bool(io.asynchronous) and not io.read for io in ios) / len(ios),
        "seek_locality": sum(size.values()) / 3 / fmean(moved),
        "read_after_write_1h": again / len(ios),
        "read_bytes": sum(io.bytes for io in ios if io.read),
        "write_bytes": sum(io.bytes for io in ios if not io.read),
    }


@pytest.mark.parametrize(
    ("name", "block"),
    [*((name, 4096) for name in TRACES), ("cello_srt/ajw.1week.srt", 512), ("cello_srt/ajw.1week.srt", 65536)],
)
def test_the_rows_of_table_3_are_those_of_plain_loops(name: str, block: int, reference_data: Path) -> None:
    folder = reference_data / "blocktraces"
    ios = list(TRACES[name](folder))
    told = info(folder / name, info={"block_bytes": block})
    sizes = {device["number"]: device["bytes"] or 0 for device in told["trace"]["devices"]}
    for row, value in table_3(ios, sizes, block).items():
        assert told[row] == (value if value is None else pytest.approx(value, rel=1e-9)), row


@pytest.mark.parametrize("name", TRACES)
def test_sizes_gaps_and_sequences_are_those_of_plain_loops(name: str, reference_data: Path) -> None:
    folder = reference_data / "blocktraces"
    ios = list(TRACES[name](folder))
    told = info(folder / name)
    counted = Counter(io.bytes for io in ios).most_common()
    assert {one["bytes"]: one["ios"] for one in told["sizes"]["common"]}.items() <= dict(counted).items()
    assert told["sizes"]["common"][0]["ios"] == counted[0][1]
    classes = Counter(1 << io.bytes.bit_length() - 1 for io in ios)
    assert {one["from_bytes"]: one["ios"] for one in told["sizes"]["powers_of_two"]} == classes
    gaps = [after.at_ns - before.at_ns for before, after in pairwise(ios)]
    said = told["inter_arrival"]
    assert said["mean_s"] == pytest.approx(fmean(gaps) / 1e9)
    assert said["cv"] == pytest.approx(pstdev(gaps) / fmean(gaps))
    assert said["max_s"] == max(gaps) / 1e9
    ordered = sorted(gaps)
    for key, quantile in {"p10_s": 0.1, "p50_s": 0.5, "p90_s": 0.9, "p99_s": 0.99}.items():
        near = ordered[max(0, int(quantile * len(gaps)) - 2) : int(quantile * len(gaps)) + 3]
        assert near[0] / 1e9 * 0.998 <= said[key] <= near[-1] / 1e9 * 1.002 + 1e-9, key
    for width_s in (1, 10):
        windows = int((ios[-1].at_ns - ios[0].at_ns) / 1e9 // width_s)
        counts = Counter((io.at_ns - ios[0].at_ns) // (width_s * 10**9) for io in ios)
        within = [counts[window] for window in range(windows)]
        if windows >= 2:
            assert said[f"dispersion_{width_s}s"] == pytest.approx(pstdev(within) ** 2 / fmean(within)), width_s
        else:
            assert said[f"dispersion_{width_s}s"] is None
    ends: dict[int, int] = {}
    follows: Counter[bool] = Counter()
    for io in ios:
        follows[io.read] += ends.get(io.device) == io.offset
        ends[io.device] = io.offset + io.bytes
    assert told["sequential"] == pytest.approx(follows.total() / len(ios))
    assert told["sequential_reads"] == pytest.approx(follows[True] / sum(io.read for io in ios))


def test_devices_are_told_one_by_one(reference_data: Path) -> None:
    """Counts of SOURCE.md; L of one device beside a plain loop over its own requests."""
    folder = reference_data / "blocktraces"
    told = info(folder / "cello_srt/ajw.1week.srt")
    assert [(one["device"], one["ios"]) for one in told["devices"]] == [(0, 42252), (1, 2267)]
    for one in told["devices"]:
        own = [io for io in hplajw(folder) if io.device == one["device"]]
        moved = fmean(abs(after.offset - before.offset - before.bytes) for before, after in pairwise(own))
        assert one["seek_locality"] == pytest.approx(one["data_bytes"] / 3 / moved)
    weighted = sum(one["seek_locality"] * one["ios"] for one in told["devices"]) / told["ios"]
    assert told["seek_locality_per_device"] == pytest.approx(weighted)


def test_the_size_of_a_device_that_is_given_is_the_size_of_its_data(reference_data: Path) -> None:
    trace = reference_data / "blocktraces/cloudphysics/cloudPhysicsIO.vscsi"
    small, large = info(trace), info(trace, reading={"all_device_bytes": 10**13})
    assert large["data_bytes"] == 10**13
    assert large["seek_locality"] / small["seek_locality"] == pytest.approx(10**13 / small["data_bytes"])


def test_the_verb_tells_a_table_or_one_document(reference_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(reference_data / "blocktraces/cello_srt/ajw.1week.srt")
    with pytest.raises(SystemExit) as left:
        main(["trace", "info", trace])
    shown = capsys.readouterr().out
    assert left.value.code == 0
    assert "I/Os             44,519: 13,040 reads" in shown and "seek locality" in shown and "devic" in shown
    with pytest.raises(SystemExit):
        main(["trace", "info", "--json", "--block", "512", trace])
    told = json.loads(capsys.readouterr().out)
    assert (told["ios"], told["block_bytes"]) == (44519, 512)


@pytest.mark.parametrize(
    "words", [["--block", "many"], ["--block", "0"], ["--device-size", "x=1GB"], ["--time-unit", "days"]]
)
def test_what_is_not_understood_is_refused(words: list[str], reference_data: Path) -> None:
    trace = str(reference_data / "blocktraces/cello_srt/ajw.1week.srt")
    with pytest.raises(SystemExit) as left:
        main(["trace", "info", *words, trace])
    assert left.value.code == 2


def test_an_unknown_option_of_the_binding_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown field"):
        _native.trace_info(json.dumps({"paths": ["x"], "blocks": 1}))
