"""A sweep over storage: every combination once, under a name a person can read, and how long it will take."""

from __future__ import annotations

from pathlib import Path

import pytest

from iojoule.errors import ConfigError
from iojoule.experiment.parse import loads
from iojoule.experiment.plan import Plan, make_plan
from iojoule.experiment.step import step_seed

FILE = """\
[experiment]
repeats = 2
idle = "1s"
idle_after = "2s"

[[target]]
name = "nothing"
kind = "null"
size = ["1GiB", 4194304]

[[workload]]
kind = "block"
pattern = ["random", "sequential"]
write = [0, 70, 100]
block_size = [4096, "1MiB"]
queue_depth = [1, 32]
duration = "2s"
"""


def plan(text: str = FILE, *settings: str) -> Plan:
    return make_plan(loads(text, Path("/bench/block.toml"), settings))


def test_a_sweep_of_lists_is_every_combination_on_every_target() -> None:
    made = plan()
    assert (len(made.targets), len(made.workloads), len(made.steps)) == (2, 24, 96)
    cells = {(w.model.pattern, w.model.write, w.model.block_size, w.model.queue_depth) for w in made.workloads.values()}
    assert len(cells) == 24


def test_swept_values_are_named_as_a_person_would() -> None:
    made = plan()
    assert {"block-random-read-4KiB-q1", "block-sequential-write-1MiB-q32", "block-random-write70-4KiB-q1"} <= set(
        made.workloads
    )
    assert set(made.targets) == {"nothing-size1GiB", "nothing-size4MiB"}


def test_lists_of_tables_are_values_and_no_sweep() -> None:
    text = FILE.replace('block_size = [4096, "1MiB"]', 'sizes = [{bytes = "4KiB", weight = 3}, {bytes = "64KiB"}]')
    made = plan(
        text.replace(
            'pattern = ["random", "sequential"]', 'pattern = "hot_band"\nbands = [{share = 80, from = 10, to = 20}]'
        )
    )
    assert len(made.workloads) == 6
    (first, *_) = made.workloads.values()
    assert [share.bytes for share in first.model.sizes] == [4096, 65536]


def test_keys_of_a_table_sweep_too() -> None:
    made = plan(FILE, "workload.steady_state.round=['1s','2s']", "workload.write=0", "workload.queue_depth=1")
    assert {w.model.steady_state.round for w in made.workloads.values()} == {1.0, 2.0}
    made = plan(FILE, "workload.verify=[true,false]", "workload.write=100")
    assert len(made.workloads) == 16


def test_how_long_it_takes_is_said_beforehand() -> None:
    assert plan().expected() == (96 * (1 + 2 + 2), 0)
    assert plan(FILE.replace('duration = "2s"', "requests = 100")).expected() == (96 * 3, 96)


def test_repeats_draw_anew_and_targets_meet_the_same() -> None:
    seeds = {(s.target, s.workload, s.repeat): step_seed(1, s) for s in plan().steps}
    assert len(set(seeds.values())) == 24 * 2
    name = "block-random-read-4KiB-q1"
    assert seeds["nothing-size1GiB", name, 1] == seeds["nothing-size4MiB", name, 1]
    assert seeds["nothing-size1GiB", name, 1] != seeds["nothing-size1GiB", name, 2]


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("queue_depth = [1, 32]", "iodepth = 32", "workload.iodepth", "unknown key"),
        ('block_size = [4096, "1MiB"]', 'block_size = ["4k"]', "workload.block_size", "not one of"),
        ('block_size = [4096, "1MiB"]', "block_size = [100]", "workload.block_size", "512"),
        ("write = [0, 70, 100]", "write = 101", "workload.write", "100"),
        ('duration = "2s"', "theta = 1.0", "workload", "zipf"),
    ],
)
def test_what_cannot_be_is_refused_with_key_and_reason(old: str, new: str, key: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        plan(FILE.replace(old, new))
    assert caught.value.key == key


def test_a_server_cannot_be_driven_by_block_load() -> None:
    with pytest.raises(ConfigError, match="drives device, directory, file, loop, null"):
        plan(FILE.replace('kind = "null"\nsize = ["1GiB", 4194304]', 'kind = "http"\nserver = "builtin"'))


@pytest.mark.parametrize(
    ("target", "load", "key", "value"),
    [
        ('kind = "null"\nsize = 4096', 'block_size = ["4KiB", "8KiB"]', "block_size", 8192),
        ('kind = "file"\nsize = "1MiB"', 'block_size = "2MiB"', "block_size", 2 << 20),
        ('kind = "file"\nsize = "1MiB"', "block_size = 1000", "block_size", 1000),
        ('kind = "file"\nsize = "1MiB"', 'size = "1GiB"', "size", 1 << 30),
        ('kind = "loop"\nsize = "1MiB"\nsector_size = 4096', "block_size = 512", "block_size", 512),
        ('kind = "loop"\npath = "below.img"\nsector_size = 4096', 'offset = "1KiB"', "offset", 1024),
        ('kind = "loop"\nsize = "1MiB"', 'offset = "1MiB"', "offset", 1 << 20),
    ],
)
def test_what_cannot_fit_a_target_of_a_stated_size_is_refused_in_the_plan(
    target: str, load: str, key: str, value: int
) -> None:
    first = '[[workload]]\nname = "first"\nkind = "block"\nqueue_depth = [1, 2]\n'
    text = f'[[target]]\nname = "t"\n{target}\n\n{first}\n[[workload]]\nname = "load"\nkind = "block"\n{load}\n'
    with pytest.raises(ConfigError, match=key) as caught:
        plan(text)
    assert (caught.value.key, caught.value.value) == (f"workload.{key}", value)
    assert caught.value.line == text.splitlines().index(load) + 1


@pytest.mark.parametrize("load", ['kind = "block"', 'kind = "access_time"'])
def test_a_region_behind_the_end_is_no_place_for_any_load(load: str) -> None:
    text = f'[[target]]\nname = "t"\nkind = "file"\nsize = "1MiB"\n[[workload]]\nname = "load"\n{load}\n'
    assert len(plan(text + 'offset = "512KiB"\n').steps) == 1
    with pytest.raises(ConfigError, match="behind the end of t"):
        plan(text + 'offset = "512KiB"\nsize = "1MiB"\n')


def test_buffered_requests_need_not_be_whole_sectors() -> None:
    load = 'kind = "block"\nblock_size = 1000\ndirect = false\n'
    text = f'[[target]]\nname = "t"\nkind = "file"\nsize = "1MiB"\n[[workload]]\nname = "load"\n{load}'
    assert len(plan(text).steps) == 1
