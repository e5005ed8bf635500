"""The answers of ``iojoule trace info`` for a person to read."""

from __future__ import annotations

from typing import Any

BAR = 40
DEVICES = 20


def info_text(answer: dict[str, Any]) -> str:
    """The rows of Table 3 of Yu et al. (OSDI 2000), then sizes, gaps and devices."""
    written = answer["write_ios"]
    lines = [
        f"format           {', '.join(sorted({file['format'] for file in answer['trace']['files']}))}",
        f"data size        {_bytes(answer['data_bytes'])}, of which {_bytes(answer['footprint_bytes'])} touched",
        f"I/Os             {answer['ios']:,}: {answer['read_ios']:,} reads ({_bytes(answer['read_bytes'])}), "
        f"{written:,} writes ({_bytes(answer['write_bytes'])})",
        f"duration         {answer['duration_s']:,.3f} s",
        f"rate             {_number(answer['rate_per_s'], '/s')}",
        f"reads            {_percent(answer['reads'])}",
        f"async writes     {_percent(answer['async_writes'])}",
        f"seek locality    {_number(answer['seek_locality'])}; by device {_number(answer['seek_locality_per_device'])}",
        f"read after write {_percent(answer['read_after_write_1h'])} of the I/Os, within 1 h, "
        f"by {_bytes(answer['block_bytes'])}",
        f"sequential       {_percent(answer['sequential'])}: {_percent(answer['sequential_reads'])} of reads, "
        f"{_percent(answer['sequential_writes'])} of writes",
    ]
    if answer["trims"] or answer["flushes"]:
        lines.append(f"besides          {answer['trims']:,} trims, {answer['flushes']:,} flushes")
    if answer["measured_response_mean_ms"] is not None:
        lines.append(f"response         {answer['measured_response_mean_ms']:.3f} ms on average, as measured")
    if answer["trace"]["skipped"]:
        lines.append(
            f"left out         {answer['trace']['skipped']:,} broken records: {answer['trace']['first_skipped']}"
        )
    lines += _sizes(answer["sizes"], answer["ios"])
    lines += _gaps(answer["inter_arrival"])
    return "\n".join(lines + _devices(answer["devices"]))


def _sizes(sizes: dict[str, Any], ios: int) -> list[str]:
    if not ios:
        return []
    common = ", ".join(f"{_bytes(size['bytes'])} {size['share']:.1%}" for size in sizes["common"][:6])
    lines = [f"sizes            {_bytes(sizes['mean_bytes'])} on average; most common {common}"]
    most = max(one["ios"] for one in sizes["powers_of_two"])
    for one in sizes["powers_of_two"]:
        bar = "#" * max(1, round(BAR * one["ios"] / most))
        lines.append(f"  from {_bytes(one['from_bytes']):>9} {one['ios']:>12,}  {bar}")
    return lines


def _gaps(gaps: dict[str, Any] | None) -> list[str]:
    if gaps is None:
        return []
    shown = ", ".join(f"{name} {_time(gaps[f'{name}_s'])}" for name in ("p1", "p10", "p50", "p90", "p99", "max"))
    return [
        f"between arrivals {_time(gaps['mean_s'])} on average; {shown}",
        f"burstiness       cv {_number(gaps['cv'])}; dispersion of counts in 1 s {_number(gaps['dispersion_1s'])}, "
        f"in 10 s {_number(gaps['dispersion_10s'])} (Poisson: 1)",
    ]


def _devices(devices: list[dict[str, Any]]) -> list[str]:
    if len(devices) < 2:
        return []
    lines = [f"{'device':>6} {'I/Os':>12} {'reads':>7} {'size':>10} {'touched':>10} {'sequential':>10} {'L':>8}"]
    for one in devices[:DEVICES]:
        lines.append(
            f"{one['device']:>6} {one['ios']:>12,} {_percent(one['reads']):>7} {_bytes(one['data_bytes']):>10} "
            f"{_bytes(one['footprint_bytes']):>10} {_percent(one['sequential']):>10} {_number(one['seek_locality']):>8}"
        )
    if len(devices) > DEVICES:
        lines.append(f"  ... {len(devices) - DEVICES} more devices; --json has them all")
    return lines


def _bytes(value: float) -> str:
    """Powers of ten, but whole KiB and MiB where it is as small as the size of a request."""
    whole = int(value)
    if whole == value and 0 < whole < 16 << 20 and whole % 1024 == 0:
        return f"{whole >> 20} MiB" if whole % (1 << 20) == 0 else f"{whole >> 10} KiB"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value:.0f} B"


def _time(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.0f} ns"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _number(value: float | None, unit: str = "") -> str:
    return "unknown" if value is None else f"{value:,.3g}{unit}"
