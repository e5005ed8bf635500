"""A trace of a replay that cannot be read is told of in the words of the experiment file."""

from __future__ import annotations

from pathlib import Path

import pytest

from iojoule.errors import ConfigError
from iojoule.workloads.block_trace import canonical

AS_RECOGNISED = {"format": None, "time_unit": None, "sort": False}


def test_a_trace_of_no_known_format_asks_for_the_key_and_not_for_an_option(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text("nothing that is a trace\n" * 5)
    with pytest.raises(ConfigError) as told:
        canonical([file], AS_RECOGNISED, tmp_path)
    assert "format" in str(told.value) and "--format" not in str(told.value)
