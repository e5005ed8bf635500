"""Whatever an experiment file says, the answer is a plan or a ConfigError. Cases that fuzzing found stand by name."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iojoule.errors import ConfigError
from iojoule.experiment.explained import keys
from iojoule.experiment.parse import loads, sections
from iojoule.experiment.plan import make_plan

KEYS = sorted({part for entry in keys() for part in entry["key"].split(".")})
VALUES = [
    "http",
    "web_replay",
    "web_closed",
    "utilisation",
    "builtin",
    "nginx",
    "4KiB",
    "30s",
    "500/s",
    "a",
    "${HOME}",
    "",
]

scalars = st.one_of(
    st.sampled_from(VALUES),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=8),
    st.none().map(lambda _: "60s"),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
entries = st.dictionaries(st.sampled_from(["kind", "name", *KEYS]), values, max_size=8)
files = st.fixed_dictionaries(
    {},
    optional={
        "experiment": entries | values,
        "target": st.lists(st.just({"kind": "http", "server": "builtin"}) | entries, max_size=2) | values,
        "workload": st.lists(st.just({"kind": "web_closed", "fetches": 3}) | entries, max_size=2) | values,
        "meter": st.lists(entries, max_size=2) | values,
        "other": values,
    },
)


@settings(max_examples=300, deadline=None)
@given(files)
def test_any_document_is_a_plan_or_a_config_error(document: dict[str, Any]) -> None:
    with contextlib.suppress(ConfigError):
        make_plan(sections(document, "", Path("/bench/any.toml"))).describe()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.text(max_size=40))
def test_any_text_is_a_plan_or_a_config_error(text: str, setting: str) -> None:
    with contextlib.suppress(ConfigError):
        make_plan(loads(text, Path("/bench/any.toml"), [setting]))


HEAD = '[[target]]\nkind = "http"\nserver = "builtin"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[target]]\nkind = [1, 2]\n", "no kind of target"),
        (HEAD + '[[workload]]\nkind = "web_closed"\nfetches = []\n', "sweeps nothing"),
        (HEAD + '[[workload]]\nkind = "web_closed"\nname = 7\nfetches = 1\n', "a name is"),
        (HEAD + '[[workload]]\nkind = "web_closed"\nname = "../up"\nfetches = 1\n', "a name is"),
        (
            HEAD
            + f'[[workload]]\nkind = "web_closed"\nfetches = {list(range(1, 400))}\nfiles = {list(range(1, 400))}\n',
            "more",
        ),
        (HEAD + '[[workload]]\nkind = "web_closed"\nfetches = 1\n[[meter]]\nkind = [1]\n', "meter kind"),
    ],
)
def test_found_by_fuzzing(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_plan(loads(text, Path("/bench/fuzzed.toml")))
