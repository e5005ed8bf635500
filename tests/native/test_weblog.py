"""``iojoule weblog`` on real logs, beside counts that grep, sort and awk make of the same bytes."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from iojoule import _native
from iojoule.cli import main
from iojoule.errors import ConfigError

LOGS = [
    "semicomplete/apache_logs",
    "nasa_jul95_excerpt/access.log",
    "nasa_aug95_excerpt/NASA_access_log_Aug95.head",
    *(f"erddap_voto/tomcat-access.log.{day}" for day in range(4, 10)),
]
# What a person would type to tell a line of a web log: three words, stamp, quoted request, status, size, and then
# nothing or whole quoted fields. Kept apart from the parser on purpose.
LINE = (
    r'^[^ ]+ [^ ]+ [^ ]+ \[[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}(:[0-9]{2}){3} [+-][0-9]{4}\] "[^"]*" [0-9]{3} ([0-9]+|-)'
    r'( "[^"]*")*$'
)
COUNT = r"""
{ split($0, quoted, "\""); request = quoted[2]; split(quoted[3], answer, " "); lines++
  if (answer[2] == "-") missing++; else bytes += answer[2]
  clients[$1] = 1; statuses[answer[1]]++
  split(request, words, " "); methods[words[1]]++
  target = request; sub(/^[^ ]+ /, "", target); sub(/ HTTP\/[0-9.]+$/, "", target); objects[target] = 1
  hour = substr($4, 2, 14); hours[hour]++ }
END { printf "{\"lines\": %d, \"bytes\": %.0f, \"missing\": %d", lines, bytes, missing
  printf ", \"clients\": %d, \"objects\": %d, \"hours\": %d", length(clients), length(objects), length(hours)
  printf ", \"statuses\": {\"\": 0"; for (s in statuses) printf ", \"%s\": %d", s, statuses[s]
  printf "}, \"methods\": {\"\": 0"; for (m in methods) printf ", \"%s\": %d", m, methods[m]; print "}}" }
"""


def info(*paths: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_native.weblog_info(json.dumps({"paths": [str(path) for path in paths]})))
    return answer


def prepare(log: Path, output: Path, **options: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        _native.weblog_prepare(json.dumps({"paths": [str(log)], "output": str(output), **options}))
    )
    return answer


@pytest.mark.parametrize("name", LOGS)
def test_counts_agree_with_grep_and_awk(name: str, reference_data: Path, require: Callable[[str, str], str]) -> None:
    log = reference_data / "httplogs" / name
    found = info(log)
    grep = subprocess.run(["grep", "-aE", LINE, log], capture_output=True, check=True, env={"LC_ALL": "C"})
    awk = [require("awk", "mawk"), COUNT]
    counted = json.loads(subprocess.run(awk, input=grep.stdout, capture_output=True, check=True).stdout)
    assert found["lines"] == int(subprocess.run(["wc", "-l", log], capture_output=True).stdout.split()[0])
    assert found["parsed"] == found["requests"] == counted["lines"]
    assert found["malformed"] == found["lines"] - counted["lines"]
    assert found["malformed"] == sum(what["count"] for what in found["malformed_by_reason"].values())
    assert (found["bytes"], found["sizes_missing"]) == (counted["bytes"], counted["missing"])
    assert (found["clients"], found["objects"]) == (counted["clients"], counted["objects"])
    assert found["statuses"] == {key: n for key, n in counted["statuses"].items() if n}
    assert found["methods"] == {key: n for key, n in counted["methods"].items() if n}
    assert len(found["rate_per_hour"]) == counted["hours"]
    assert sum(row["requests"] for row in found["rate_per_hour"]) == found["requests"]


def test_known_facts_of_the_shared_logs(reference_data: Path) -> None:
    """From their description: times, order, formats, and the one line that breaks off inside its agent."""
    logs = reference_data / "httplogs"
    semicomplete = info(logs / LOGS[0])
    assert (semicomplete["lines"], semicomplete["out_of_order"], semicomplete["sizes_missing"]) == (10_000, 4915, 669)
    assert [*semicomplete["malformed_by_reason"]] == ["unclosed_quote"]
    july = info(logs / LOGS[1])
    assert (july["first"], july["last"]) == ("1995-07-01T04:00:01Z", "1995-07-01T05:08:54Z")
    assert info(logs / LOGS[2])["parsed"] == 1841
    for day, extra in zip(range(4, 10), (11, 9, 13, 6, 10, 14), strict=True):
        assert info(logs / f"erddap_voto/tomcat-access.log.{day}")["formats"]["extra"] == extra


def test_the_cut_up_log_is_whole_again_without_its_extra_line_feeds(reference_data: Path, tmp_path: Path) -> None:
    """The copy has a line feed after every 4,096 bytes; without them 1,880 requests and one cut-off line are left."""
    text = (reference_data / "httplogs" / LOGS[2]).read_bytes()
    mended = b"".join(text[at : at + 4096] for at in range(0, len(text), 4097))
    (tmp_path / "mended.log").write_bytes(mended)
    found = info(tmp_path / "mended.log")
    assert (found["parsed"], found["malformed"]) == (1880, 1)


def test_several_logs_are_read_as_one_whatever_their_compression(reference_data: Path, tmp_path: Path) -> None:
    log = reference_data / "httplogs" / LOGS[1]
    packed = tmp_path / "access.log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()[:100_000]) + gzip.compress(log.read_bytes()[100_000:]))
    assert info(packed)["rate_per_hour"] == info(log)["rate_per_hour"]
    both = info(packed, log)
    assert (both["requests"], both["clients"], both["out_of_order"]) == (8000, info(log)["clients"], 1)
    assert both["files"][1]["first_line"] == 4001


@pytest.mark.parametrize("name", LOGS)
def test_every_parsed_line_is_in_the_table_or_left_out_for_a_reason(
    name: str, reference_data: Path, tmp_path: Path
) -> None:
    done = prepare(reference_data / "httplogs" / name, tmp_path / "day.parquet", cut=["attacks", "robots"])
    assert done["requests"] + sum(done["left_out"].values()) == done["parsed"]
    table, objects = pq.read_table(done["output"]), pq.read_table(done["objects_output"])
    assert (table.num_rows, objects.num_rows) == (done["requests"], done["objects"])
    planned = table["planned_ns"].to_pylist()
    assert planned == sorted(planned)
    assert planned[0] >= 0
    assert planned[-1] == done["span_ns"]
    paths = dict(zip(objects["object"].to_pylist(), objects["path"].to_pylist(), strict=True))
    requested = zip(table["object"].to_pylist(), table["path"].to_pylist(), strict=True)
    assert all(paths[number] == path for number, path in requested)
    assert sum(objects["size"].to_pylist()) == done["content_bytes"]
    metadata = {key.decode(): value.decode() for key, value in pq.read_metadata(done["output"]).metadata.items()}
    assert (metadata["iojoule.kind"], metadata["iojoule.version"]) == ("replay", "1")
    assert json.loads(metadata["iojoule.left_out"]) == done["left_out"]


def test_an_empty_a_binary_and_a_missing_log_say_what_is_wrong(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    for content, text in [(b"", "no lines"), (b"\x7fELF\0\0\n" * 5000, "binary"), (b"hello\n", "not a web log")]:
        log.write_bytes(content)
        with pytest.raises(ConfigError, match=text):
            info(log)
    with pytest.raises(ConfigError, match=r"missing\.log"):
        info(tmp_path / "missing.log")
    with pytest.raises(ConfigError, match="unknown field"):
        _native.weblog_info('{"path": "x"}')


def test_a_truncated_log_is_reported_up_to_its_last_whole_line(
    reference_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = gzip.compress((reference_data / "httplogs" / LOGS[1]).read_bytes())
    log = tmp_path / "access.log.gz"
    log.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SystemExit) as left:
        main(["weblog", "info", "--json", str(log)])
    found = json.loads(capsys.readouterr().out)
    assert left.value.code == 1
    assert found["truncated"]
    assert "access.log.gz: damaged after line" in found["truncated_reason"]
    assert 1000 < found["requests"] < 4000
    with pytest.raises(ConfigError, match="truncated"):
        prepare(log, tmp_path / "day.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["access.log.gz"]
    assert prepare(log, tmp_path / "day.parquet", allow_damaged=True)["warnings"]


def test_the_command_prepares_what_the_options_name(reference_data: Path, tmp_path: Path) -> None:
    logs, output = reference_data / "httplogs", tmp_path / "noon.parquet"
    words = ["weblog", "prepare", str(logs / LOGS[0]), "-o", str(output), "--since", "2015-05-18"]
    words += ["--until", "2015-05-19", "--hours", "10-11", "--cut", "robots", "--names", "plain", "--no-spread"]
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    table = pq.read_table(output)
    epoch_ns = int(pq.read_metadata(output).metadata[b"iojoule.epoch_utc_ns"])
    assert datetime.fromtimestamp(epoch_ns // 10**9, UTC).isoformat() == "2015-05-18T10:05:00+00:00"
    assert {ns // 3_600_000_000_000 for ns in table["planned_ns"].to_pylist()} == {0, 1}
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2


def test_a_synthetic_day_can_be_prepared(tmp_path: Path) -> None:
    log = tmp_path / "day.log.gz"
    written = json.loads(_native.weblog_synth(json.dumps({"output": str(log), "seed": 1, "requests": 5000})))
    done = prepare(log, tmp_path / "day.replay.parquet")
    assert (written["requests"], done["lines"], done["malformed"]) == (5000, 5000, 0)
    assert done["objects_output"] == str(tmp_path / "day.objects.parquet")
    assert done["requests"] > 4700
