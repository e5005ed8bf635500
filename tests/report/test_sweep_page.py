"""What a sweep of block load says on the page, in `show` and in `check`, against laws that are known."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from iojoule.report import build_report, load_campaign
from iojoule.report.findings import findings
from iojoule.report.reduce import reduce_campaign
from iojoule.report.sweep import Sweep, sweep_of


@pytest.fixture(scope="module")
def sweep(sweep_campaign: Path) -> Sweep:
    found = sweep_of(reduce_campaign(load_campaign(sweep_campaign))[0])
    assert found is not None
    return found


def said(folder: Path) -> list[tuple[str, str]]:
    campaign = load_campaign(folder)
    return [(one.level, one.text.replace("\u00a0", " ")) for one in findings(campaign, reduce_campaign(campaign)[0])]


def documents(page: str) -> dict[str, Any]:
    return {
        name: json.loads(text) for name, text in re.findall(r'class="figure" data-for="([^"]+)">(.*?)</script>', page)
    }


def test_the_laws_that_made_the_sweep_are_found_again(sweep: Sweep, synthetic_block: ModuleType) -> None:
    for line in sweep.lines:
        cell = line.points[0].cell
        a, b = synthetic_block.LAWS[cell.pattern, 100 if cell.op == "write" else 0, cell.block_bytes]
        idle_w, delta_w, speed = synthetic_block.SYSTEMS[line.target]
        assert line.laws is not None and line.laws.power is not None
        assert line.laws.law.a_ms == pytest.approx(a / speed, rel=0.03)
        assert line.laws.law.b_ms == pytest.approx(b / speed, rel=0.05)
        assert line.laws.power.idle_w == pytest.approx(idle_w, rel=0.001)
        assert line.laws.power.delta_w == pytest.approx(delta_w, rel=0.05)
        assert line.laws.held_back_pct is not None and line.laws.held_back_pct < 3


def test_many_cells_are_one_section_with_every_cell_folded_away(sweep_page: str) -> None:
    assert re.findall(r'<section id="([^"]+)"', sweep_page) == ["findings", "sweep", "runs", "provenance"]
    cells = sweep_page.split('<details class="cells">')[1].split("</section>")[0]
    assert cells.count("<details>") == 4 * 6
    assert set(documents(sweep_page)) == {"sweep-heat", "sweep-latency", "sweep-power", "sweep-steady"}


def test_each_device_and_pattern_has_its_best_operating_point_in_a_sentence(sweep_campaign: Path) -> None:
    results = [text for level, text in said(sweep_campaign) if level == "result"]
    first = next(text for text in results if text.startswith("atom, random read"))
    assert re.match(
        r"atom, random read: most work per watt at 4 KiB, depth 32, [\d.]+ ± [\d.]+ IOPS/W "
        r"\([\d.]+ IOPS at [\d.]+ W, at the wall socket\); ", first,
    )  # fmt: skip
    assert len([text for text in results if "most work per watt" in text]) == 8
    assert any("depths it has not seen" in text for text in results)


def test_the_table_of_the_seed_has_its_columns_and_the_mark_of_the_audit(sweep_page: str) -> None:
    table = sweep_page.split("<h3>Performance per watt at the deepest queue</h3>")[1].split("</table>")[0]
    head = re.findall(r'<th scope="col">(.*?)</th>', table)
    assert head[:8] == [
        "pattern", "queue depth", "IOPS", "CPU (%)", "latency (ms)", "watt", "perf/watt (IOPS/W)", "N = X·R",
    ]  # fmt: skip
    assert table.count("✓") == 8 and "✗" not in table


def test_empty_slots_are_flagged_in_every_place(synthetic_block: ModuleType, tmp_path: Path) -> None:
    keys = (("random", 0, 4096),)
    folder = synthetic_block.write_campaign(tmp_path / "c", systems=("atom",), repeats=1, keys=keys, lost=0.08)
    warning = next(text for level, text in said(folder) if level == "warning" and "Little" in text)
    assert "in 6 of 6 runs" in warning and "slots stood empty" in warning
    page = build_report(load_campaign(folder))
    assert page.split("Little&#39;s law, cell by cell")[1].split("</table>")[0].count("✗") == 6


def test_modelled_power_is_called_modelled_on_every_picture_and_row(
    synthetic_block: ModuleType, tmp_path: Path
) -> None:
    keys = (("random", 0, 4096),)
    folder = synthetic_block.write_campaign(
        tmp_path / "c", systems=("atom",), repeats=1, keys=keys, boundary="modelled"
    )
    page = build_report(load_campaign(folder))
    assert documents(page)["sweep-power"]["layout"]["yaxis1"]["title"]["text"] == "modelled power (W)"
    assert "IOPS/W over block size and queue depth, power modelled" in page
    table = page.split("<h3>Performance per watt at the deepest queue</h3>")[1].split("</table>")[0]
    assert table.count("modelled, not measured") == 1


def test_errors_and_corrupt_blocks_of_many_runs_are_one_sentence(synthetic_block: ModuleType, tmp_path: Path) -> None:
    keys = (("random", 0, 4096),)
    folder = synthetic_block.write_campaign(tmp_path / "c", systems=("atom",), repeats=1, keys=keys)
    for run in (folder / "runs").iterdir():
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["engine"] |= {"verified": 10, "corrupt": 2, "corruptions": [f"object 0: stale in {run.name}"]}
        (run / "manifest.json").write_text(json.dumps(manifest))
    fails = [text for level, text in said(folder) if level == "fail"]
    assert len(fails) == 1 and "2 blocks held not what was written" in fails[0] and "all runs" in fails[0]


def test_systems_are_compared_side_by_side(sweep_page: str) -> None:
    table = sweep_page.split("<h3>Systems side by side</h3>")[1].split("</table>")[0]
    assert "XEON AGAINST ATOM" in table.upper()
    rows = re.findall(r'<th scope="row">(random read, 4 KiB, depth 32)</th><td>(.*?)</td>', table)
    assert rows == [("random read, 4 KiB, depth 32", "IOPS")]


def test_reading_and_writing_have_three_efficiencies_with_their_names(sweep_page: str) -> None:
    table = sweep_page.split("<h3>Reading and writing as one number</h3>")[1].split("</table>")[0]
    for name in ("mean of ratios (MB/J)", "pooled (MB/J)", "equal bytes (MB/J)"):
        assert name in table
    assert table.count("at the wall socket") == 4


def test_a_few_cells_are_shown_one_by_one(synthetic_block: ModuleType, tmp_path: Path) -> None:
    folder = synthetic_block.write_campaign(
        tmp_path / "c", systems=("atom",), repeats=2, keys=(("random", 0, 4096),), depths=(8,)
    )
    page = build_report(load_campaign(folder))
    assert 'id="scenario-1"' in page and 'id="sweep"' not in page
    result = next(text for level, text in said(folder) if level == "result")
    assert re.match(r"atom did [\d.]+ ± [\d.]+ IOPS, [\d.]+ MB/s \(random read, 4 KiB, depth 8\) at ", result)
    assert "IOPS per watt" in page and "requests per joule" not in page


def test_access_time_is_said_as_least_mean_and_greatest(synthetic_block: ModuleType, tmp_path: Path) -> None:
    folder = synthetic_block.write_campaign(
        tmp_path / "c", systems=("atom",), repeats=1, keys=(("random", 0, 4096),), depths=(1,)
    )
    (run,) = (folder / "runs").iterdir()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["workload"] = {"kind": "access_time", "name": "access", "requests": 500}
    manifest["target"]["logical_block_bytes"] = 4096
    (run / "manifest.json").write_text(json.dumps(manifest))
    result = next(text for level, text in said(folder) if level == "result")
    times = re.fullmatch(
        r"atom has an access time of at least ([\d.]+) ms, on average ([\d.]+) ms, at most ([\d.]+) ms "
        r"\(random read, 4 KiB\)\.", result,
    )  # fmt: skip
    assert times is not None, result
    least, mean, greatest = map(float, times.groups())
    assert least < mean < greatest and mean == pytest.approx(2.26 + 8.2, rel=0.1)


def test_a_rate_that_falls_with_depth_still_has_its_pictures(
    synthetic_block: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ("random", 0, 4096)
    monkeypatch.setattr(synthetic_block, "LAWS", {key: (20.0, -19.5)})
    folder = synthetic_block.write_campaign(tmp_path / "c", systems=("atom",), repeats=1, keys=(key,), depths=(1, 2, 8))
    drawn = documents(build_report(load_campaign(folder)))["sweep-latency"]["data"]
    assert all(x > 0 for trace in drawn for x in trace["x"])


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


def test_the_terminal_shows_a_line_for_each_cell(sweep_campaign: Path) -> None:
    done = command(sweep_campaign, "show", str(sweep_campaign))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("4 KiB") == 2 * 4 * 6
    assert "random read on atom [ac_wall]" in done.stdout and "IOPS/W" in done.stdout


def test_the_laws_of_a_campaign_come_from_its_folder(sweep_campaign: Path, tmp_path: Path) -> None:
    done = command(tmp_path, "model", "amdahl", str(sweep_campaign), "--predict", "64", "--json")
    assert done.returncode == 0, done.stderr
    series = {one["series"]: one for one in json.loads(done.stdout)["series"]}
    one = series["atom, random read, 4 KiB"]
    assert one["a_ms"] == pytest.approx(2.26, rel=0.03) and one["points"] == 12
    assert one["predictions"][-1]["queue_depth"] == 64 and all(row["holds"] for row in one["little"])


def test_check_believes_a_steady_run_and_fails_one_that_never_settled(
    synthetic_block: ModuleType, tmp_path: Path
) -> None:
    folder = synthetic_block.write_campaign(
        tmp_path / "c", systems=("atom",), repeats=1, keys=(("random", 0, 4096),), depths=(8,), steady=True
    )
    assert command(tmp_path, "check", str(folder)).returncode == 0
    (run,) = (folder / "runs").iterdir()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["engine"]["steady_state"] |= {"steady": False, "reason": "not steady within 25 rounds of 1 s"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    done = command(tmp_path, "check", str(folder))
    assert done.returncode == 1 and "not steady within 25 rounds" in done.stdout


def test_two_programs_in_the_same_cells_are_two_lines(synthetic_block: ModuleType, tmp_path: Path) -> None:
    folder = synthetic_block.write_campaign(
        tmp_path / "c", systems=("atom",), repeats=1, keys=(("random", 0, 4096),), depths=(1, 2, 4, 8)
    )
    for file in (folder / "runs").glob("*/manifest.json"):
        manifest = json.loads(file.read_text())
        depth = manifest["workload"]["queue_depth"]
        # Depths 2 and 8 become fio's runs of depths 1 and 4.
        if depth in (2, 8):
            manifest["workload"] |= {"kind": "fio", "queue_depth": depth // 2}
            file.write_text(json.dumps(manifest))
    found = sweep_of(reduce_campaign(load_campaign(folder))[0])
    assert found is not None
    assert [(line.label, [p.depth for p in line.points]) for line in found.lines] == [
        ("random read, block", [1, 4]),
        ("random read, fio", [1, 4]),
    ]
