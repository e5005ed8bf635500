"""The manifest tells what the machine is, from the kernel's own files, and says None where they are silent."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path

import pytest

from iojoule.host.devices import block_devices, file_system
from iojoule.host.facts import cpu, facts, kernel, limits, load_average, memory

Files = dict[str, str]


def machine(root: Path, files: Files) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def test_the_facts_of_this_machine_are_plain_json_without_its_name() -> None:
    document = json.dumps(facts())
    found = json.loads(document)
    assert found["kernel"]["release"]
    assert found["cpu"]["cores"] >= 1
    assert found["memory"]["total_bytes"] > 0
    assert len(found["host"]) == 12
    name = socket.gethostname()
    assert len(name) < 4 or name not in document


def test_an_empty_machine_tells_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    found = facts(tmp_path)
    assert found["load_average"] is None
    assert found["kernel"]["clocksource"] is None
    assert found["block_devices"] == []
    assert found["file_system"]["kind"] is None


def test_kernel_facts(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        {
            "proc/sys/kernel/osrelease": "6.1.0-9-amd64\n",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
            "proc/self/timerslack_ns": "50000\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "boot/config-6.1.0-9-amd64": "# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n",
        },
    )
    assert kernel(root) == {
        "release": "6.1.0-9-amd64",
        "clocksource": "hpet",
        "config_hz": 250,
        "timer_slack_ns": 50000,
        "transparent_hugepages": "madvise",
    }


def test_the_configuration_inside_the_kernel_goes_before_the_file(tmp_path: Path) -> None:
    root = machine(tmp_path, {"proc/sys/kernel/osrelease": "6.1\n", "boot/config-6.1": "CONFIG_HZ=100\n"})
    (root / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=1000\n"))
    assert kernel(root)["config_hz"] == 1000


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}, True),
        ({"sys/devices/system/cpu/intel_pstate/no_turbo": "1\n"}, False),
        ({"sys/devices/system/cpu/cpufreq/boost": "1\n"}, True),
        ({"sys/devices/system/cpu/cpufreq/boost": "0\n"}, False),
        ({}, None),
    ],
)
def test_turbo_is_told_by_either_driver(tmp_path: Path, files: Files, turbo: bool | None) -> None:
    assert cpu(machine(tmp_path, files))["turbo"] is turbo


def test_cpu_facts(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        {
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Example 9000 @ 3 GHz\nflags\t: fpu hypervisor sse\n",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/smt/active": "1\n",
        },
    )
    found = cpu(root)
    assert (found["model"], found["governor"], found["smt"], found["virtual"]) == (
        "Example 9000 @ 3 GHz",
        "powersave",
        True,
        True,
    )


def test_memory_is_told_in_bytes(tmp_path: Path) -> None:
    root = machine(tmp_path, {"proc/meminfo": "MemTotal:  2048 kB\nSwapTotal:  1024 kB\nSwapFree:  1000 kB\n"})
    found = memory(root)
    assert (found["total_bytes"], found["swap_total_bytes"], found["swap_free_bytes"]) == (2 << 20, 1 << 20, 1000 << 10)


def test_load_average_has_three_numbers(tmp_path: Path) -> None:
    assert load_average(machine(tmp_path, {"proc/loadavg": "0.50 1.25 2.00 1/234 5678\n"})) == [0.5, 1.25, 2.0]


def test_the_tightest_limit_on_the_way_up_counts(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/a.slice"
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a.slice/b.service\n",
            f"{group}/b.service/cpu.max": "max 100000\n",
            f"{group}/b.service/memory.max": "8000000000\n",
            f"{group}/cpu.max": "150000 100000\n",
            f"{group}/memory.max": "4000000000\n",
        },
    )
    assert limits(root)["control_group"] == {"cpus": 1.5, "memory_bytes": 4_000_000_000}


def test_a_drive_is_described_by_what_decides_its_speed(tmp_path: Path) -> None:
    drive = "sys/block/sda"
    root = machine(
        tmp_path,
        {
            f"{drive}/size": "72143872\n",
            f"{drive}/device/model": "ULTRASTAR 36Z15 \n",
            f"{drive}/queue/rotational": "1\n",
            f"{drive}/queue/scheduler": "none [mq-deadline] bfq\n",
            f"{drive}/queue/write_cache": "write through\n",
            f"{drive}/queue/logical_block_size": "512\n",
            "sys/block/loop0/size": "0\n",
        },
    )
    [found] = block_devices(root)
    assert found["model"] == "ULTRASTAR 36Z15"
    assert found["size_bytes"] == 72143872 * 512
    assert found["rotational"] is True
    assert found["scheduler"] == "mq-deadline"
    assert found["write_cache"] == "write through"
    assert found["queue_requests"] is None


def test_the_file_system_of_a_path_is_the_nearest_mount_and_of_two_the_later(tmp_path: Path) -> None:
    run = tmp_path.resolve() / "my disk" / "runs"
    run.mkdir(parents=True)
    blank = str(run.parent).replace(" ", "\\040")
    root = machine(
        tmp_path / "root",
        {
            "proc/self/mountinfo": (
                "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                f"30 22 8:17 / {blank} rw,noatime shared:2 - ext4 /dev/sdb1 rw\n"
                f"31 30 8:33 / {blank} rw,nodiratime - xfs /dev/sdc1 rw\n"
            )
        },
    )
    found = file_system(run / "not yet there", root)
    assert (found["mount"], found["kind"], found["device"], found["options"]) == (
        str(run.parent),
        "xfs",
        "/dev/sdc1",
        "rw,nodiratime",
    )
    assert found["free_bytes"] > 0
