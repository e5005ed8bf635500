"""The tally as OpenTelemetry takes it: pushed over HTTP as protobuf (OTLP), units as in UCUM."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from iojoule.meters.export.tally import Tally, Total, known


class Exporter:
    """Pushes every ``every_s`` to ``url``, such as ``http://127.0.0.1:4318/v1/metrics``; once more when it closes."""

    def __init__(self, tally: Tally, url: str, every_s: float) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource

        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=url), export_interval_millis=every_s * 1e3)
        self._provider = MeterProvider([reader], Resource.create({"service.name": "iojoule"}), shutdown_on_exit=False)
        self._tally = tally
        self._meter: Any = self._provider.get_meter("iojoule.meters")
        self._shown: set[str] = set()
        self._counter("iojoule.energy", lambda t: t.joules, "Energy since the start, of the time covered.", unit="J")
        self._counter("iojoule.energy.returned", lambda t: t.returned, "Energy that flowed back.", unit="J")
        self._counter("iojoule.covered", lambda t: t.covered_s, "Time the energy is of.", unit="s")
        self._gauge("iojoule.energy.uncertainty", _energy_u, "Standard uncertainty (k = 1), J.", "J")
        self._counter("iojoule.readings", lambda t: t.readings, "Readings since the start.", unit="1", all=True)
        self._counter("iojoule.readings.invalid", lambda t: t.invalid, "Of these no measurements.", unit="1", all=True)
        self._meter.create_observable_gauge("iojoule.reading.flag", [self._flags], "1", "Flags of the last reading.")

    def quantities(self) -> None:
        """Show every quantity that has been read by now; to be called when the meters are there."""
        for total in self._tally.totals():
            quantity, unit = str(total.described["quantity"]), str(total.described["unit"])
            name = "iojoule." + re.sub(r"[^a-z0-9_]+", "_", quantity.lower())
            if unit == "J" or name in self._shown:
                continue
            self._shown.add(name)

            def value(t: Total, wanted: str = quantity) -> float | None:
                return t.last.value if t.last and t.last.good and t.described["quantity"] == wanted else None

            def u(t: Total, wanted: str = quantity) -> float | None:
                last = t.last if t.last and t.last.good and t.described["quantity"] == wanted else None
                return last.u_value if last and known(last.u_value) else None

            self._gauge(name, value, f"Last reading of {quantity}.", unit)
            self._gauge(f"{name}.uncertainty", u, "Its standard uncertainty (k = 1).", unit)

    def _observed(self, of: Callable[[Total], float | None]) -> Callable[[Any], Iterable[Any]]:
        from opentelemetry.metrics import Observation

        def observe(options: Any) -> Iterable[Any]:
            values = ((total, of(total)) for total in self._tally.totals())
            return [Observation(value, total.labels) for total, value in values if value is not None]

        return observe

    def _gauge(self, name: str, of: Callable[[Total], float | None], about: str, unit: str) -> None:
        self._meter.create_observable_gauge(name, [self._observed(of)], unit, about)

    def _counter(self, name: str, of: Callable[[Total], float], about: str, *, unit: str, all: bool = False) -> None:
        observe = self._observed(lambda total: of(total) if all or total.has_energy else None)
        self._meter.create_observable_counter(name, [observe], unit, about)

    def _flags(self, options: Any) -> Iterable[Any]:
        from opentelemetry.metrics import Observation

        return [
            Observation(1, total.labels | {"flag": flag})
            for total in self._tally.totals()
            for flag in (total.last.quality if total.last else ())
        ]

    def close(self) -> None:
        self._provider.shutdown()


def _energy_u(total: Total) -> float | None:
    return total.u_joules if total.has_energy and known(total.u_joules) else None
