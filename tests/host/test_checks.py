"""`iojoule host` says what would spoil a measurement, with advice, and does not pretend to know what it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from iojoule.host.checks import Check, checks


def check(root: Path, name: str, files: dict[str, str]) -> Check:
    for file, content in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(content)
    return next(made for made in checks(root, root) if made.name == name)


CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
PORTS = "proc/sys/net/ipv4/ip_local_port_range"
RAPL = "sys/class/powercap/intel-rapl:0/energy_uj"
SWAP = "MemTotal: 1024 kB\nSwapTotal: 8192 kB\nSwapFree: {} kB\n"


@pytest.mark.parametrize(
    ("name", "files", "ok", "found"),
    [
        ("governor", {f"{CPU}/cpu{n}/cpufreq/scaling_governor": "performance\n" for n in "01"}, True, "performance"),
        (
            "governor",
            {
                f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
                f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave\n",
            },
            False,
            "performance, powersave",
        ),
        ("turbo", {f"{CPU}/intel_pstate/no_turbo": "0\n"}, False, "on"),
        ("turbo", {f"{CPU}/cpufreq/boost": "0\n"}, True, "off"),
        ("clock source", {CLOCK: "tsc\n"}, True, "tsc"),
        ("clock source", {CLOCK: "hpet\n"}, False, "hpet"),
        ("load", {"proc/loadavg": "0.00 0.1 0.1 1/1 1\n"}, True, "0.00 over"),
        ("load", {"proc/loadavg": "999.00 0.1 0.1 1/1 1\n"}, False, "999.00 over"),
        ("ephemeral ports", {PORTS: "32768\t60999\n"}, True, "32768 to 60999"),
        ("ephemeral ports", {PORTS: "60000\t60999\n"}, False, "60000 to 60999"),
        ("powercap", {RAPL: "12345\n"}, True, "1 of 1"),
        ("swap", {"proc/meminfo": SWAP.format(8192)}, True, "0 MiB of 8 MiB"),
        ("swap", {"proc/meminfo": SWAP.format(4096)}, False, "4 MiB of 8 MiB"),
        ("huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, False, "always"),
        ("huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}, True, "madvise"),
        ("time sync", {"run/systemd/timesync/synchronized": ""}, True, "systemd-timesyncd"),
        ("time sync", {"run/chrony/chronyd.pid": "7\n"}, True, "chrony"),
    ],
)
def test_a_finding_is_judged(tmp_path: Path, name: str, files: dict[str, str], ok: bool, found: str) -> None:
    made = check(tmp_path, name, files)
    assert (made.ok, found in made.found) == (ok, True), made
    assert bool(made.advice) == (not ok)


@pytest.mark.parametrize("name", ["governor", "turbo", "clock source", "load", "ephemeral ports", "powercap", "swap"])
def test_what_the_machine_does_not_tell_is_not_judged(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, name, {}).ok is None


def test_a_counter_that_may_not_be_read_is_told_with_the_command_that_helps(tmp_path: Path) -> None:
    unreadable = tmp_path / RAPL
    unreadable.mkdir(parents=True)  # reading it fails for root, too
    made = check(tmp_path, "powercap", {})
    assert (made.ok, made.found) == (False, "0 of 1 counters can be read")
    assert "chmod a+r" in made.advice


def test_every_check_of_this_machine_has_words_for_what_it_found() -> None:
    made = checks()
    assert len({one.name for one in made}) == len(made) >= 12
    assert all(one.found for one in made)
    assert all(one.advice for one in made if one.ok is False)
    assert all(one.to_json().keys() == {"name", "ok", "found", "advice"} for one in made)
