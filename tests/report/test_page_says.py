"""What stands on the page, and what it must not hide."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from iojoule.metrics.metric import Metric
from iojoule.report import build_report, load_campaign
from iojoule.report.findings import findings
from iojoule.report.numbers import percent, with_uncertainty
from iojoule.report.reduce import reduce_campaign


def said(folder: Path) -> list[tuple[str, str]]:
    campaign = load_campaign(folder)
    scenarios, _ = reduce_campaign(campaign)
    return [(one.level, one.text.replace("\u00a0", " ")) for one in findings(campaign, scenarios)]


def test_the_page_is_one_file_of_less_than_eight_megabytes(page: str) -> None:
    assert len(page.encode()) < 8_000_000
    without_library = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", without_library)
    assert "@import" not in page.split("</style>")[0] and "url(" not in page.split("</style>")[0]


def test_plotly_is_embedded_once(page: str) -> None:
    assert page.count("* plotly.js v") == 1


def test_text_of_the_experiment_cannot_become_markup(page: str) -> None:
    assert "A web day in a hundred seconds &lt;/script&gt;" in page
    assert "hundred seconds </script>" not in page


def test_the_first_finding_says_who_served_how_much_at_what_watts(campaign: Path) -> None:
    first = next(text for level, text in said(campaign) if level == "result")
    assert re.match(r"nginx served [\d.]+ ± [\d.]+ requests/s \([\d.]+ % succeeded\) at [\d.]+ ± [\d.]+ W", first)
    assert "at the wall socket" in first and "requests per joule" in first


def test_measured_power_speaks_before_modelled_power(campaign: Path) -> None:
    scenarios, _ = reduce_campaign(load_campaign(campaign))
    ((_, _, differences),) = scenarios[0].comparisons()
    measured = next(d for d in differences if (d.name, d.scope, d.boundary) == ("j_per_request", "system", "ac_wall"))
    assert measured.percent is not None and measured.significant
    sentence = next(text for _, text in said(campaign) if text.startswith("Against nginx"))
    assert f"energy per request {percent(measured.percent)}" in sentence


def test_modelled_power_is_called_modelled_everywhere(synthetic: ModuleType, tmp_path: Path) -> None:
    synthetic.write_campaign(tmp_path / "c", modelled=True, repeats=1)
    assert ("warning", "Power is modelled from utilisation, not measured.") in said(tmp_path / "c")
    page = build_report(load_campaign(tmp_path / "c"))
    rows = re.findall(r'<tr[^>]*><th scope="row">(?:mean power|energy)\b[^<]*</th>(.*?)</tr>', page)
    assert len(rows) > 10 and all("modelled, not measured" in row for row in rows)
    documents = [json.loads(text) for text in re.findall(r'data-for="f1-power">(.*?)</script>', page)]
    assert "modelled" in documents[0]["layout"]["yaxis"]["title"]["text"]
    assert {t["line"]["dash"] for t in documents[0]["data"] if t["yaxis"] == "y" and "dash" in t["line"]} == {"dash"}


def test_a_shunt_that_takes_more_of_a_rail_than_atx_allows_is_a_warning(campaign: Path) -> None:
    loaded = load_campaign(campaign)
    scenarios, _ = reduce_campaign(loaded)
    group = scenarios[0].groups[0]
    burdens = [Metric("burden", 4.9, "%", "channel:dmm/12v"), Metric("burden", 6.12, "%", "channel:dmm/5v")]
    heavy = replace(group.runs[0], metrics=[*group.runs[0].metrics, *burdens])
    seen = replace(scenarios[0], groups=[replace(group, runs=[heavy])])
    told = [one.text.replace("\u00a0", " ") for one in findings(loaded, [seen]) if "shunt" in one.text]
    taken = "the shunt of dmm/5v took up to 6.1 % of its rail's voltage"
    assert told == [f"{heavy.run.name}: {taken}, more than the 5 % that ATX allows."]


def test_an_incomplete_run_is_named_and_kept_out_of_the_means(synthetic: ModuleType, tmp_path: Path) -> None:
    folder = synthetic.write_campaign(tmp_path / "c", repeats=2, targets=("nginx",))
    synthetic.write_run(folder, 7, "nginx", 3, status="interrupted")
    assert ("fail", "007_nginx_day_r3 is incomplete (interrupted); its numbers are not in the means.") in said(folder)
    scenarios, _ = reduce_campaign(load_campaign(folder))
    assert {e.n for e in scenarios[0].groups[0].estimates if e.name == "requests_per_s"} == {2}


def test_a_run_without_requests_or_meters_still_has_a_page(synthetic: ModuleType, tmp_path: Path) -> None:
    folder = synthetic.write_campaign(tmp_path / "c", repeats=1, targets=("nginx",))
    (run,) = (folder / "runs").iterdir()
    for name in ("requests", "readings"):
        (run / "tables" / f"{name}.parquet").unlink()
    (run / "events.jsonl").write_text("", encoding="utf-8")
    text = build_report(load_campaign(folder))
    assert "no request was issued" in text and "Provenance" in text


def test_a_phase_cut_short_ends_where_its_record_ends(synthetic: ModuleType, tmp_path: Path) -> None:
    folder = synthetic.write_campaign(tmp_path / "c", repeats=1, targets=("nginx",))
    (run,) = (folder / "runs").iterdir()
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not ('"measure"' in line and '"end"' in line) and "cooldown" not in line]
    (run / "events.jsonl").write_text("".join(kept), encoding="utf-8")
    (data,) = load_campaign(folder).runs
    measure = data.phase("measure")
    assert measure is not None and 100 <= measure.seconds < 111


def test_the_same_folder_gives_the_same_page(campaign: Path, page: str) -> None:
    assert build_report(load_campaign(campaign)) == page


def test_every_axis_and_every_column_of_numbers_has_its_unit(page: str) -> None:
    documents = [json.loads(text) for text in re.findall(r'class="figure" data-for="[^"]+">(.*?)</script>', page)]
    assert len(documents) == 5
    titles = [axis["title"]["text"] for d in documents for key, axis in d["layout"].items() if "axis" in key]
    unit = re.compile(r"\(W\)|per second|MB/s|concurrent|seconds|\(%\)|, ms")
    assert all(unit.search(title) for title in titles), titles


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [(12.1712, 0.1403, "12.17 ± 0.14"), (2205.7, 219.0, "2\u202f210 ± 220"), (0.5, 0.00996, "0.500 ± 0.010"),
     (9.99, None, "9.990"), (3.0, 0.0, "3"), (-0.25, 0.011, "−0.250 ± 0.011"), (None, 1.0, "–")],
)  # fmt: skip
def test_a_value_is_written_to_the_place_of_its_uncertainty(value: float | None, half: float | None, text: str) -> None:
    assert with_uncertainty(value, half) == text
