"""The tally as Prometheus reads it: text over HTTP, units in the names (prometheus.io/docs/practices/naming)."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iojoule.meters import clock
from iojoule.meters.export.tally import Tally, Total, known

#: Written unit → the word in a name.
UNITS = {"W": "watts", "J": "joules", "V": "volts", "A": "amperes", "1": "ratio", "Hz": "hertz", "°C": "celsius"}
LABELS = ("meter", "channel", "boundary", "role", "drive")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM; ``authority`` makes clients show a certificate."""

    certificate: Path
    key: Path
    authority: Path | None


def name_of(total: Total) -> str:
    """``iojoule_power_watts`` for power in W."""
    unit = total.described["unit"]
    word = UNITS.get(unit) or re.sub(r"[^a-z0-9]+", "_", unit.lower()).strip("_") or "units"
    return f"iojoule_{re.sub(r'[^a-z0-9]+', '_', str(total.described['quantity']).lower())}_{word}"


class Collector:
    """What a scrape gets, made when it comes."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families: dict[str, Any] = {}

        def add(kind: Any, name: str, help: str, labels: dict[str, str], value: float) -> None:
            family = families.setdefault(name, kind(name, help, labels=list(labels)))
            family.add_metric(list(labels.values()), value)

        gauge, counter = GaugeMetricFamily, CounterMetricFamily
        for meter, up in self._tally.up().items():
            add(gauge, "iojoule_meter_up", "1 while the meter gives readings.", {"meter": meter}, float(up))
        for total in self._tally.totals():
            labels, last = total.labels, total.last
            if last is None:
                continue
            # Nothing is shown for what is not a measurement: a value from before would look like one.
            if last.good and last.unit != "J":
                about = f"Last reading of {total.described['quantity']}, {last.unit}."
                add(gauge, name_of(total), about, labels, last.value)
                if known(last.u_value):
                    stem, _, unit = name_of(total).rpartition("_")
                    about = f"Its standard uncertainty (k = 1), systematic, {last.unit}; absent where it is not known."
                    add(gauge, f"{stem}_uncertainty_{unit}", about, labels, last.u_value)
            age_s = max(0.0, (clock.now_ns() - last.end_ns) * 1e-9)
            add(gauge, "iojoule_reading_age_seconds", "Time since the last reading's window ended.", labels, age_s)
            for flag in last.quality:
                add(gauge, "iojoule_reading_flag", "1 for each flag of the last reading.", labels | {"flag": flag}, 1.0)
            add(counter, "iojoule_readings", "Readings since the start.", labels, total.readings)
            about = "Of these, readings that are no measurement: they add no energy."
            add(counter, "iojoule_readings_invalid", about, labels, total.invalid)
            if total.has_energy:
                add(
                    counter,
                    "iojoule_energy_joules",
                    "Energy since the start, of the time covered.",
                    labels,
                    total.joules,
                )
                about = "Energy that flowed back, apart, since a counter never goes down."
                add(counter, "iojoule_energy_returned_joules", about, labels, total.returned)
                add(counter, "iojoule_covered_seconds", "Time the energy is of.", labels, total.covered_s)
                if known(total.u_joules):
                    about = "Standard uncertainty (k = 1) of energy since the start; absent where it is not known."
                    add(gauge, "iojoule_energy_uncertainty_joules", about, labels, total.u_joules)
        yield from families.values()


class Exporter:
    """An HTTP server on ``host``; ``port`` 0 takes a free one. OSError where it cannot be had."""

    def __init__(self, tally: Tally, host: str, port: int, tls: Tls | None = None) -> None:
        from prometheus_client import CollectorRegistry, start_http_server

        registry = CollectorRegistry()
        registry.register(Collector(tally))
        options: dict[str, Any] = {}
        if tls:
            options = {"certfile": str(tls.certificate), "keyfile": str(tls.key)}
            options |= {"tls_min_version": ssl.TLSVersion.TLSv1_2}
            if tls.authority:
                options |= {"client_cafile": str(tls.authority), "client_auth_required": True}
        self._server, self._thread = start_http_server(port, host, registry, **options)
        self.port = int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)
