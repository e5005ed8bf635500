"""The answers of ``iojoule weblog`` for a person to read."""

from __future__ import annotations

from typing import Any

BAR = 40


def info_text(answer: dict[str, Any]) -> str:
    """What the log holds; busiest hours as bars."""
    exact = {True: "", False: " (estimated, ±0.4 %)"}
    requests = answer["requests"]
    lines = [
        f"requests   {requests:,} of {answer['lines']:,} lines, {answer['malformed']:,} malformed",
        f"span       {answer['first']} to {answer['last']} ({_span(answer['span_s'])})",
        f"bytes      {answer['bytes']:,} ({answer['sizes_missing']:,} sizes missing)",
        f"clients    {answer['clients']:,}{exact[answer['clients_exact']]}",
        f"objects    {answer['objects']:,}{exact[answer['objects_exact']]}",
        f"static     {answer['static_share']:.1%}",
        f"methods    {_counts(answer['methods'])}",
        f"statuses   {_counts(answer['statuses'])}",
        f"versions   {_counts(answer['http_versions'])}",
        f"format     {_counts(answer['formats'])}; zones {_counts(answer['zones'])}",
    ]
    if answer["odd_request"]:
        lines.append(f"odd        {answer['odd_request']:,} requests that are not METHOD target HTTP/x")
    if answer["out_of_order"]:
        lines.append(f"order      {answer['out_of_order']:,} lines are earlier than the line before")
    lines += _broken(answer)
    rows = answer["rate_per_hour"]
    most = max((row["requests"] for row in rows), default=1)
    lines.append("requests per hour (UTC)")
    shown = rows if len(rows) <= 48 else rows[:24] + rows[-24:]
    for number, row in enumerate(shown):
        if len(rows) > 48 and number == 24:
            lines.append(f"  ... {len(rows) - 48} more hours; --json has them all")
        bar = "#" * max(1, round(BAR * row["requests"] / most))
        lines.append(f"  {row['hour'][:16].replace('T', ' ')}  {row['requests']:>9,}  {bar}")
    if answer["truncated"]:
        lines.append(f"TRUNCATED: {answer['truncated_reason']}")
    return "\n".join(lines)


def prepare_text(answer: dict[str, Any]) -> str:
    """What was written and what was left out."""
    left_out = answer["left_out"]
    lines = [
        f"{answer['output']}: {answer['requests']:,} requests, {answer['objects']:,} objects, "
        f"{answer['clients']:,} clients",
        f"{answer['objects_output']}: {answer['content_bytes']:,} bytes of content",
        f"span       {answer['first']} to {answer['last']} ({_span(answer['span_ns'] / 1e9)})",
        f"left out   {sum(left_out.values()):,} of {answer['parsed']:,} parsed lines"
        + (f": {_counts(left_out)}" if left_out else ""),
        *_broken(answer),
    ]
    if answer["key_file"]:
        lines.append(f"key        {answer['key_file']}; keep it secret, the names stand and fall with it")
    return "\n".join(lines)


def _broken(answer: dict[str, Any]) -> list[str]:
    return [
        f"malformed  {what['count']:,} {reason}: line {', '.join(map(str, what['first_lines']))}"
        + (", ..." if what["count"] > len(what["first_lines"]) else "")
        for reason, what in answer["malformed_by_reason"].items()
    ]


def _counts(counts: dict[str, int]) -> str:
    most_first = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count:,}" for name, count in most_first[:12]) + (", ..." if len(counts) > 12 else "")


def _span(seconds: float) -> str:
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.1f} days"
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds:.0f} s"
