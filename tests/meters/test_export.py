"""What monitoring systems are told of meters: units, uncertainty and flags with every number; totals never go down."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from serving import BENCH, environment

from iojoule.meters.base import Channel, Description, Rail, Reading, read
from iojoule.meters.export.tally import Tally

POWER = Channel("power", "power", "W", "ac_wall", "window_mean", u_rel=0.01, role="drive", drive="sdb")
COUNTER = Channel("energy", "energy", "J", "device", "counter")
INSTANT = Channel("input", "power", "W", "dc_rail", "instant", u_abs=0.1)


def tally(*channels: Channel) -> Tally:
    from dataclasses import asdict

    document = {"name": "m", "channels": [asdict(channel) for channel in channels]}
    return Tally(lambda: [document])


def second(channel: Channel, at: int, value: float, *flags: str) -> Reading:
    start = at if channel.kind == "instant" else at - 1
    return read(channel, start * 10**9, at * 10**9, 0, value, *flags)


def test_a_window_counts_over_its_own_length_and_what_is_no_measurement_counts_nothing() -> None:
    one = tally(POWER)
    one.take("m", [second(POWER, 1, 10.0), second(POWER, 2, 99.0, "invalid", "overload"), second(POWER, 3, 0.0)])
    (total,) = one.totals()
    assert (total.joules, total.covered_s, total.readings, total.invalid) == (10.0, 2.0, 3, 1)
    assert total.u_joules == pytest.approx(0.1) and total.flagged == {"invalid": 1, "overload": 1}


def test_energy_that_flows_back_is_counted_apart() -> None:
    one = tally(POWER)
    one.take("m", [second(POWER, 1, 10.0), second(POWER, 2, -3.0)])
    (total,) = one.totals()
    assert (total.joules, total.returned) == (10.0, 3.0)


def test_a_counter_counts_its_steps_and_an_instant_the_way_between_two() -> None:
    one = tally(COUNTER, INSTANT)
    one.take("m", [second(COUNTER, 1, 7.0), second(COUNTER, 2, 8.0)])
    one.take("m", [second(INSTANT, 1, 10.0), second(INSTANT, 2, 20.0), second(INSTANT, 9, 20.0, "gap_before")])
    counter, instant = one.totals()
    assert (counter.joules, instant.joules, instant.covered_s) == (15.0, 15.0, 1.0)


def test_the_rails_of_a_scanner_count_as_power_and_their_voltages_do_not() -> None:
    volts, shunt = (Channel(f"12v_{what}", what, "V", "dc_rail", "instant") for what in ("voltage", "shunt"))
    described = Description({}, (volts, shunt), (Rail("12v", volts.id, shunt.id, 0.1, role="drive", drive="sda"),))
    one = Tally(lambda: [described.document("m", "keysight_34970a", 1.0)])
    one.take("m", [second(volts, 1, 12.0), second(shunt, 1, 0.05), second(volts, 2, 12.0)])
    one.take("m", [second(shunt, 2, 0.1), second(volts, 3, 12.0), second(shunt, 3, math.nan, "invalid", "overload")])
    totals = {total.labels["channel"]: total for total in one.totals()}
    rail = totals["12v"]
    assert rail.labels == {"meter": "m", "channel": "12v", "boundary": "dc_rail", "role": "drive", "drive": "sda"}
    assert (rail.joules, rail.covered_s, rail.readings, rail.invalid) == (pytest.approx(9.0), 1.0, 3, 1)
    assert not totals["12v_voltage"].has_energy


@contextmanager
def exporting(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The verb at work, and its first line."""
    (folder / "bench.toml").write_text(BENCH)
    command = [sys.executable, "-m", "iojoule", "meter", "export", str(folder / "bench.toml"), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stderr
        yield process, process.stderr.readline()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.e2e
def test_prometheus_reads_units_uncertainty_and_flags(tmp_path: Path, require: Callable[[str, str], str]) -> None:
    """By curl; parsed by Prometheus' own parser."""
    from prometheus_client.parser import text_string_to_metric_families

    curl = require("curl", "curl")
    with exporting(tmp_path, "--prometheus", "0") as (_, said):
        url = said.strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
        text = subprocess.run([curl, "-sf", url], check=True, capture_output=True, text=True).stdout
    families = {family.name: family for family in text_string_to_metric_families(text)}
    power = families["iojoule_power_watts"]
    (sample,) = power.samples
    labels = {"meter": "fan", "channel": "power", "boundary": "modelled", "role": "other", "drive": ""}
    assert (sample.value, sample.labels) == (12.5, labels) and power.type == "gauge"
    assert families["iojoule_power_uncertainty_watts"].samples[0].value == 0.1
    energy = families["iojoule_energy_joules"]
    assert energy.type == "counter" and {one.name for one in energy.samples} >= {"iojoule_energy_joules_total"}
    covered = families["iojoule_covered_seconds"].samples[0].value
    joules = next(one.value for one in energy.samples if one.name.endswith("_total"))
    assert joules == pytest.approx(12.5 * covered) and joules > 0
    assert families["iojoule_reading_flag"].samples[0].labels["flag"] == "modelled"
    assert families["iojoule_meter_up"].samples[0].value == 1
    assert all(family.documentation for family in families.values())


class Receiver(HTTPServer):
    """Takes metrics by OTLP over HTTP, and reads them with the library's own messages."""

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self.service = ""
        self.came = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        import gzip

        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.server.service = next(
                a.value.string_value for a in resource.resource.attributes if a.key == "service.name"
            )
            for scope in resource.scope_metrics:
                self.server.metrics |= {metric.name: metric for metric in scope.metrics}
        self.send_response(200)
        self.end_headers()
        if "iojoule.power" in self.server.metrics:
            self.server.came.set()

    def log_message(self, *words: object) -> None:
        pass


def test_opentelemetry_gets_the_same(tmp_path: Path) -> None:
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{receiver.server_port}/v1/metrics"
        with exporting(tmp_path, "--otlp", url, "--every", "200ms") as (_, said):
            assert said == f"pushing to {url} every 0.2 s\n"
            assert receiver.came.wait(30)
        receiver.shutdown()
    assert receiver.service == "iojoule"
    power = receiver.metrics["iojoule.power"]
    (point,) = power.gauge.data_points
    assert (power.unit, point.as_double) == ("W", 12.5)
    assert {one.key: one.value.string_value for one in point.attributes}["boundary"] == "modelled"
    assert receiver.metrics["iojoule.power.uncertainty"].gauge.data_points[0].as_double == 0.1
    energy = receiver.metrics["iojoule.energy"]
    assert energy.unit == "J" and energy.sum.is_monotonic and energy.sum.data_points[0].as_double > 0
    (flag,) = receiver.metrics["iojoule.reading.flag"].gauge.data_points
    assert {one.key: one.value.string_value for one in flag.attributes}["flag"] == "modelled"
