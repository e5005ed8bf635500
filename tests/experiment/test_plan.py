"""A plan says exactly what an experiment file says, and nothing that the file does not say passes unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from iojoule.errors import ConfigError
from iojoule.experiment.parse import loads
from iojoule.experiment.plan import Plan, make_plan

FILE = """\
[experiment]
repeats = 2

[[target]]
name = "a"
kind = "http"
server = "builtin"

[[target]]
name = "b"
kind = "http"
url = "http://127.0.0.1:8080"

[[workload]]
name = "web"
kind = "web_replay"
log = ["access.log"]
speedup = [4, 8]
limits.lateness_p99 = "2ms"

[[meter]]
name = "model"
kind = "utilisation"
idle_w = 20.0
cpu_w = 30.0
u_rel = 0.1
"""


def plan(text: str = FILE, *settings: str) -> Plan:
    return make_plan(loads(text, Path("/bench/web.toml"), settings))


def test_a_list_where_a_value_stands_is_a_sweep_and_steps_are_interleaved() -> None:
    steps = plan().steps
    assert [(s.target, s.workload, s.repeat) for s in steps] == [
        (target, workload, repeat)
        for repeat in (1, 2)
        for target in ("a", "b")
        for workload in ("web-speedup4", "web-speedup8")
    ]
    assert steps[1].parameters == {"speedup": 8}


def test_grouped_runs_all_repeats_of_a_combination_in_a_row() -> None:
    steps = plan(FILE, "experiment.order=grouped").steps
    assert [s.repeat for s in steps] == [1, 2] * 4


def test_random_order_is_the_seed_s_and_loses_no_step() -> None:
    one, two = (plan(FILE, "experiment.order=random").steps for _ in range(2))
    assert one == two
    assert {(s.target, s.workload, s.repeat) for s in one} == {(s.target, s.workload, s.repeat) for s in plan().steps}
    assert one != plan(FILE, "experiment.order=random", "experiment.seed=2").steps


def test_paths_are_relative_to_the_file_and_the_experiment_is_named_after_it() -> None:
    made = plan()
    assert made.workloads["web-speedup4"].model.log == [Path("/bench/access.log")]
    assert made.header.name == "web"


def test_settings_override_one_section_by_name_or_all_of_a_kind() -> None:
    made = plan(FILE, "workload.web.connections=7", "target.a.workers=3", "experiment.idle=5s")
    assert made.workloads["web-speedup8"].model.connections == 7
    assert (made.targets["a"].model.workers, made.header.idle) == (3, 5.0)
    assert plan(FILE, "workload.limits.stretch=1.5").workloads["web-speedup4"].model.limits.stretch == 1.5


def test_nested_keys_sweep_too() -> None:
    made = plan(FILE.replace("speedup = [4, 8]", "prepare.keep = ['static', 'all']"))
    assert {v.model.prepare_options.keep for v in made.workloads.values()} == {"static", "all"}


def test_a_plan_can_be_printed_without_reading_the_log_or_asking_the_server() -> None:
    assert len(plan().describe()["steps"]) == 8


@pytest.mark.parametrize(
    ("old", "new", "key", "nearest", "line"),
    [
        ("repeats = 2", "repeat = 2", "experiment.repeat", "repeats", 2),
        ("speedup = [4, 8]", "speed = 4", "workload.speed", "speedup", 18),
        ("limits.lateness_p99", "limits.latenes_p99", "workload.limits.latenes_p99", "lateness_p99", None),
        ("idle_w = 20.0", "idel_w = 20.0", "meter.idel_w", "idle_w", 24),
        ("url = ", "ulr = ", "target.ulr", "url", 12),
        ('kind = "web_replay"', 'kind = "web_replya"', "workload.kind", "web_replay", 16),
        ("[[meter]]", "[[metre]]", "metre", "meter", 21),
    ],
)
def test_an_unknown_key_is_named_with_its_nearest_match_and_line(
    old: str, new: str, key: str, nearest: str, line: int | None
) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(FILE.replace(old, new, 1))
    assert (caught.value.key, caught.value.nearest) == (key, nearest)
    assert caught.value.file == "/bench/web.toml"
    assert line is None or caught.value.line == line


@pytest.mark.parametrize(
    ("target", "load"),
    [
        ('kind = "null"', 'kind = "access_time"'),
        ('kind = "file"\nsize = "1MiB"', 'kind = "fio"'),
        ('kind = "http"\nserver = "builtin"', 'kind = "web_closed"\nfetches = 1'),
    ],
)
def test_a_load_that_plans_no_times_has_no_limits_to_keep(target: str, load: str) -> None:
    text = f'[[target]]\nname = "t"\n{target}\n\n[[workload]]\nname = "w"\n{load}\n'
    assert plan(text).workloads["w"].model.limits.stretch > 1
    with pytest.raises(ConfigError) as caught:
        plan(text + "limits.stretch = 1.5\n")
    assert caught.value.key == "workload.limits"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeats = 2", "repeats = 0", "repeats"),
        ("speedup = [4, 8]", 'fit = "fast"', "not a time"),
        ("speedup = [4, 8]", "speedup = -1", "greater than 0"),
        ("speedup = [4, 8]", 'speedup = 2\nfit = "60s"', "either fit or speedup"),
        ('log = ["access.log"]', "", "either log or replay"),
        ('name = "b"', 'name = "a"', "two"),
        ("[[meter]]", "[meter]", "two brackets"),
        ("repeats = 2", "repeats = ", "not TOML"),
        ('server = "builtin"', 'server = "${NO_SUCH_VARIABLE}"', "NO_SUCH_VARIABLE"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_reason(old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan(FILE.replace(old, new, 1))


def test_an_experiment_without_a_target_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        plan('[[workload]]\nname = "w"\nkind = "web_closed"\nfetches = 1\n')


def test_the_environment_fills_in_with_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    text = FILE.replace("access.log", "${WEB_LOGS:-logs}/access.log")
    monkeypatch.delenv("WEB_LOGS", raising=False)
    assert plan(text).workloads["web-speedup4"].model.log == [Path("/bench/logs/access.log")]
    monkeypatch.setenv("WEB_LOGS", "/elsewhere")
    assert plan(text).workloads["web-speedup4"].model.log == [Path("/elsewhere/access.log")]
