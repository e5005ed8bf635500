"""``iojoule meter serve``: the meters of this machine for others, over TCP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from iojoule.meters.serve.bench import Bench
    from iojoule.meters.serve.credentials import Credentials

#: Where a server listens when it is not told.
PORT = 4780


def serve(
    file: Annotated[Path, typer.Argument(help="A file with meter sections, such as an experiment.")],
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 for a free one.")] = f"127.0.0.1:{PORT}",
    token_file: Annotated[Path | None, typer.Option(help="A token that clients must know.")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate of the server (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Authority of the certificates that clients must show.")] = None,
    spool: Annotated[Path | None, typer.Option(help="Folder of readings not fetched yet; FILE.spool.")] = None,
    spool_size: Annotated[str, typer.Option(help="How much it may hold; the oldest go first.")] = "64MiB",
    ptdaemon: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Also answer the PTDaemon protocol on this port of loopback.")
    ] = None,
    ptdaemon_meter: Annotated[str | None, typer.Option(help="The meter it stands for; the first.")] = None,
    ptdaemon_log: Annotated[Path | None, typer.Option(help="Log its samples here, as PTDaemon does.")] = None,
    raw: Annotated[Path | None, typer.Option(help="Folder for what is said to the instruments, byte for byte.")] = None,
) -> int:
    """Run the meters in FILE and hand their readings to any number of clients (meters of kind remote).

    Listens on loopback unless told otherwise, and wider only with a token or with certificates. The token may also
    stand in the environment as IOJOULE_METER_TOKEN. Ends on Ctrl-C or SIGTERM.

    Examples:  iojoule meter serve bench.toml · iojoule meter serve bench.toml --listen 0.0.0.0:4780 --token-file token
    """
    import asyncio

    from iojoule.cli import console
    from iojoule.cli.meter_sections import meters_of
    from iojoule.errors import ConfigError, HostError
    from iojoule.meters.serve.bench import Bench, clock_name
    from iojoule.meters.serve.credentials import CredentialError, Credentials, check_listen, tls, token
    from iojoule.meters.serve.spool import Spool, SpoolInUse
    from iojoule.quantities import nbytes

    configs = meters_of(file, None, None)
    if ptdaemon_meter is not None and ptdaemon_meter not in [config.name for config in configs]:
        raise ConfigError(f"there is no meter {ptdaemon_meter!r} in {file}", key="--ptdaemon-meter")
    try:
        host, port = _address(listen)
        credentials = Credentials(token(token_file), tls(tls_cert, tls_key, tls_ca, server=True))
        check_listen(host, credentials)
        limit = nbytes(spool_size)
        if token_file and token_file.stat().st_mode & 0o077:
            console.say(f"warning: {token_file} can be read by other users of this machine: chmod 600 {token_file}")
    except CredentialError as error:
        raise ConfigError(str(error), key="--listen") from error
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if limit < 1 << 16:
        raise ConfigError("a spool of less than 64KiB holds nothing", key="--spool-size", value=spool_size)
    folder = spool or file.with_suffix(".spool")
    try:
        kept = Spool(folder, clock_name(), limit)
    except SpoolInUse as error:
        raise ConfigError(f"{error}; give another folder with --spool", key="--spool") from error
    except Exception as error:  # OSError, sqlite3.Error: whatever keeps a folder from being written
        raise HostError(
            f"cannot keep readings in {folder}: {error}", remedy="give another folder with --spool"
        ) from error
    try:
        bench = Bench(configs, kept, raw, console.say)
    except ValueError as error:
        raise ConfigError(str(error), file=file) from error
    work = _serve(bench, credentials, (host, port), ptdaemon, ptdaemon_meter or configs[0].name, ptdaemon_log)
    try:
        return asyncio.run(work)
    finally:
        bench.close()
        kept.close()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"--listen takes HOST:PORT, such as 127.0.0.1:{PORT}, not {text!r}")
    return host.strip("[]"), int(port)


async def _serve(
    bench: Bench,
    credentials: Credentials,
    address: tuple[str, int],
    ptd_port: int | None,
    ptd_meter: str,
    ptd_log: Path | None,
) -> int:
    import asyncio
    import signal

    from iojoule.cli import console
    from iojoule.errors import HostError
    from iojoule.meters.serve.ptdaemon_bench import Ptdaemon
    from iojoule.meters.serve.server import Server

    server = Server(bench, credentials, console.say)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    bench.listeners.append(server.wake)
    listeners: list[asyncio.Server] = []
    log: Any = ptd_log.open("a", encoding="ascii", buffering=1) if ptd_log else None
    try:
        listeners.append(await server.listen(*address))
        if ptd_port is not None:
            daemon = Ptdaemon(bench, ptd_meter, (lambda line: log.write(line + "\r\n")) if log else lambda line: None)
            listeners.append(await server.listen_ptdaemon(daemon, "127.0.0.1", ptd_port))
    except OSError as error:
        raise HostError(f"cannot listen: {error.strerror}", remedy="give another address or port") from error
    bench.start()
    how = ["token"] * (credentials.token is not None) + ["TLS"] * (credentials.tls is not None)
    names = ", ".join(bench.configs)
    host, port = listeners[0].sockets[0].getsockname()[:2]
    console.say(f"serving {names} on {host}:{port} ({' and '.join(how) or 'this machine only'})")
    if ptd_port is not None:
        console.say(
            f"answering PTDaemon's protocol for {ptd_meter} on 127.0.0.1:{listeners[1].sockets[0].getsockname()[1]}"
        )
    await stop.wait()
    console.say("stopping")
    for listener in listeners:
        listener.close()
    await server.hang_up()
    if log:
        log.close()
    return 0
