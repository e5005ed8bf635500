"""Tables of the USB flash slides through our own code, to the last printed digit; what does not follow is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from iojoule.metrics.efficiency import IOS, PairEfficiency, efficiencies, pair_efficiency
from iojoule.metrics.metric import Metric
from iojoule.metrics.repeats import difference, estimate

Rows = list[dict[str, str]]
Read = Callable[[str], Rows]
PrintedAs = Callable[[float, str], str]


def agrees(row: dict[str, str], found: PairEfficiency) -> None:
    for name in ("mean_of_ratios", "pooled", "equal_bytes"):
        assert getattr(found, name) == pytest.approx(float(row[f"recomputed_{name}_mb_per_j"]), rel=1e-9)


def ratio(other: str, baseline: str, name: str = "throughput") -> float:
    """`other` over `baseline`, as the comparison of two targets gives it."""
    sides = [estimate([Metric(name, float(text), "1")]) for text in (baseline, other)]
    percent = difference(*sides).percent
    assert percent is not None
    return 1 + percent / 100


def test_megabytes_per_joule_of_hard_disks(rows: Read, printed_as: PrintedAs) -> None:
    differing = set()
    for row in rows("004_hdd.csv"):
        rate, watts = float(row["throughput_mb_per_s"]), float(row["transfer_w"])
        found = pair_efficiency(rate, watts, rate, watts)
        agrees(row, found)
        # With one rate and one power the three are the same.
        assert found.mean_of_ratios == pytest.approx(found.pooled) == pytest.approx(found.equal_bytes)
        if printed_as(found.mean_of_ratios, row["printed_mb_per_j"]) != "rounded":
            differing.add(row["model"])
    assert differing == {"Western Digital RE2 WD4000YR"}  # 65/10.8 = 6.02, 6.1 is printed


def test_megabytes_per_joule_of_solid_state_disks(rows: Read, printed_as: PrintedAs) -> None:
    for row in rows("004_ssd.csv"):
        watts = float(row["transfer_w"])
        found = pair_efficiency(float(row["read_mb_per_s"]), watts, float(row["write_mb_per_s"]), watts)
        agrees(row, found)
        assert printed_as(found.mean_of_ratios, row["printed_mb_per_j"]) == "rounded", row["model"]


def test_megabytes_per_joule_of_flash_drives_follow_another_formula_than_the_one_stated(
    rows: Read, printed_as: PrintedAs
) -> None:
    stated, pooled, from_current = set(), set(), set()
    for row in rows("004_usb.csv"):
        read, write = float(row["read_mb_per_s"]), float(row["write_mb_per_s"])
        name, printed = f"{row['model']} {row['capacity_gb']} GB", row["printed_mb_per_j"]
        found = pair_efficiency(read, float(row["read_w"]), write, float(row["write_w"]))
        agrees(row, found)
        exact = pair_efficiency(
            read, 0.005 * float(row["inferred_read_ma"]), write, 0.005 * float(row["inferred_write_ma"])
        )
        assert exact.pooled == pytest.approx(float(row["recomputed_pooled_from_ma_mb_per_j"]), rel=1e-9)
        for kept, value in ((stated, found.mean_of_ratios), (pooled, found.pooled), (from_current, exact.pooled)):
            if printed_as(value, printed) == "rounded":
                kept.add(name)
    every = {
        "Samsung Flash Drive 8 GB", "SanDisk Cruzer Mini 1 GB", "Super Talent STU1GSMBL 1 GB", "CmMemory Core 1 GB",
        "SanDisk Cruzer Mini 0.5 GB",
    }  # fmt: skip
    # Slide 6 states mean_of_ratios; only the drive that reads and writes at one power follows it.
    assert stated == {"SanDisk Cruzer Mini 0.5 GB"}
    assert every - pooled == {"Samsung Flash Drive 8 GB", "CmMemory Core 1 GB"}  # pooled, of watts not yet rounded
    assert from_current == every


def test_access_time_ratios(rows: Read) -> None:
    for row in rows("004_access_time.csv"):
        for device in ("ssd", "cf", "usb"):
            found = ratio(row["hdd_ms"], row[f"{device}_ms"], "completion_from_issued_mean")
            assert found == pytest.approx(float(row[f"recomputed_hdd_over_{device}"]), rel=1e-9)


def test_what_the_slides_say_of_access_time_and_sequential_transfer(rows: Read, printed_as: PrintedAs) -> None:
    claims = {row["id"]: row for row in rows("004_claims.csv")}
    access = next(row for row in rows("004_access_time.csv") if row["statistic"] == "Average")
    reads, writes = rows("004_seq_read.csv"), rows("004_seq_write.csv")
    read, write = (next(row for row in table if row["file_system"] == "Device") for table in (reads, writes))
    key = "{}_mb_per_s".format
    raid0, raid5, ssd, hdd = key("usb4_raid0"), key("usb4_raid5"), key("ssd"), key("hdd")
    on = [row for row in reads if row["file_system"] != "VFAT"]
    means = [ratio(row[raid], row[hdd]) for row in on for raid in (raid0, raid5)]
    found = {
        "access_hdd_usb": ratio(access["hdd_ms"], access["usb_ms"]),
        "access_hdd_ssd": ratio(access["hdd_ms"], access["ssd_ms"]),
        "read_ssd_hdd": 100 * (1 - ratio(read[ssd], read[hdd])),
        "read_raid0_ssd": 100 * (1 - ratio(read[raid0], read[ssd])),
        "read_raid0_hdd_device": 100 * (1 - ratio(read[raid0], read[hdd])),
        "read_raid_hdd_mean": 100 * (1 - sum(means) / len(means)),
        "write_ssd_half_device": 100 * ratio(write[ssd], write[hdd]),
        "write_ssd_half_mean": 100 * sum(ratio(row[ssd], row[hdd]) for row in writes) / len(writes),
        "write_raid0_ssd": 100 * (ratio(write[raid0], write[ssd]) - 1),
    }
    contradicted = set()
    for name, value in found.items():
        row = claims[name]
        assert value == pytest.approx(float(row["recomputed"]), rel=1e-8), name
        rule, _, width = row["rule"].partition(":")
        printed = float(row["printed"])
        kept = {
            "above": value > printed,
            "half_up": printed_as(value, row["printed"]) == "rounded",
            "within": abs(value - printed) <= float(width or 0),
        }[rule]
        assert kept == (row["consistent"] == "yes"), name
        if not kept:
            contradicted.add(name)
    assert contradicted == {"write_ssd_half_device"}  # 61 % on the raw device, said to be half


def test_kilobytes_per_joule_of_the_data_server_are_binary(rows: Read, printed_as: PrintedAs) -> None:
    for row in rows("004_data_server.csv"):
        energy = Metric("energy", float(row["watts"]), "J", "system", 0.0)
        found = {}
        for name, column, kilo in (
            ("recomputed_kb_per_j", "ext3_throughput_mb_per_s", 1024),
            ("recomputed_from_rounded_kb_per_j", "throughput_mb_per_s", 1024),
            ("recomputed_decimal_kb_per_j", "ext3_throughput_mb_per_s", 1000),
        ):
            value = next(
                one.value for one in efficiencies(IOS, 1, float(row[column]), energy) if one.name == "mb_per_j"
            )
            assert value is not None
            found[name] = kilo * value
            assert found[name] == pytest.approx(float(row[name]), rel=1e-9)
        assert printed_as(found["recomputed_kb_per_j"], row["printed_kb_per_j"]) == "rounded"
        assert printed_as(found["recomputed_decimal_kb_per_j"], row["printed_kb_per_j"]) == "differs"
