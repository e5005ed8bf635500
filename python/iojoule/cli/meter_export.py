"""``iojoule meter export``: readings for monitoring systems, Prometheus and OpenTelemetry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def export(
    file: Annotated[Path, typer.Argument(help="A file with meter sections, such as an experiment.")],
    prometheus: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Answer Prometheus on this port; 0 for a free one.")
    ] = None,
    otlp: Annotated[str | None, typer.Option(help="Push to this URL, e.g. http://127.0.0.1:4318/v1/metrics.")] = None,
    every: Annotated[str, typer.Option(help="Time between two pushes.")] = "10s",
    listen: Annotated[str, typer.Option(help="Address for Prometheus.")] = "127.0.0.1",
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate for Prometheus (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Authority of the certificates scrapers must show.")] = None,
    lasting: Annotated[str | None, typer.Option("--for", help="End after this long; without, on Ctrl-C.")] = None,
) -> int:
    """Run the meters in FILE and show their readings to Prometheus, push them by OTLP, or both.

    Prometheus is answered on loopback, and wider only where scrapers must show a certificate. Exits 3 if a meter gives
    no reading within 30 s.

    Examples:  iojoule meter export bench.toml --prometheus 9780 · iojoule meter export bench.toml --otlp URL --every 5s
    """
    from iojoule.cli import console
    from iojoule.cli.meter_sections import meters_of
    from iojoule.errors import ConfigError, DeviceError, HostError
    from iojoule.meters.export.tally import Tally
    from iojoule.meters.serve.credentials import CredentialError, Credentials, check_listen, tls
    from iojoule.meters.supervisor import MeterSet
    from iojoule.quantities import seconds

    if prometheus is None and otlp is None:
        raise ConfigError("say where to: --prometheus PORT, --otlp URL, or both")
    if otlp is not None and not otlp.startswith(("http://", "https://")):
        raise ConfigError(f"{otlp!r} is no URL", key="--otlp", allowed="http://HOST:PORT/v1/metrics")
    try:
        every_s, lasting_s = seconds(every), seconds(lasting) if lasting else None
        give = "give --tls-cert, --tls-key and --tls-ca so that scrapers must show a certificate"
        check_listen(listen, Credentials(tls=tls(tls_cert, tls_key, tls_ca, server=True)), give)
        tally = Tally(lambda: meters.descriptions())
        meters = MeterSet(meters_of(file, None, None), None, tally.take, _said(tally))
    except CredentialError as error:
        raise ConfigError(str(error), key="--listen") from error
    except ValueError as error:
        raise ConfigError(str(error), file=file) from error
    if every_s <= 0:
        raise ConfigError("pushes need a time between them", key="--every", value=every)
    with meters:
        if missing := meters.wait_first_good(30.0):
            raise DeviceError("; ".join(f"{name}: {why}" for name, why in missing.items()))
        exporters: list[Any] = []
        try:
            if prometheus is not None:
                from iojoule.meters.export import prometheus as to_prometheus

                files = to_prometheus.Tls(tls_cert, tls_key, tls_ca) if tls_cert and tls_key else None
                exporters.append(to_prometheus.Exporter(tally, listen, prometheus, files))
                console.say(f"http{'s' * bool(files)}://{listen}:{exporters[-1].port}/metrics")
            if otlp is not None:
                from iojoule.meters.export import otlp as to_otlp

                exporters.append(to_otlp.Exporter(tally, otlp, every_s))
                exporters[-1].quantities()
                console.say(f"pushing to {otlp} every {every_s:g} s")
            _wait(lasting_s)
        except ImportError as error:
            remedy = "pip install 'iojoule[export]'"
            raise HostError(f"{error.name} is missing", missing=error.name, remedy=remedy) from error
        except OSError as error:
            raise HostError(f"cannot listen on {listen}:{prometheus}: {error.strerror}") from error
        finally:
            for exporter in exporters:
                exporter.close()
    return 0


def _said(tally: Any) -> Any:
    from iojoule.cli import console

    def event(meter: str, kind: str, text: str) -> None:
        tally.event(meter, kind, text)
        console.say(f"{meter}: {kind}{': ' if text else ''}{text}")

    return event


def _wait(lasting_s: float | None) -> None:
    """Until Ctrl-C, SIGTERM or the end of the time."""
    import signal
    import threading

    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    over.wait(lasting_s)
