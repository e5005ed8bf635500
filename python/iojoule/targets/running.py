"""A target while it is measured: brought up, proven by a real GET, described, and torn down whatever happens."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from iojoule.errors import HostError
from iojoule.targets.base import Opening
from iojoule.targets.certificate import self_signed
from iojoule.targets.http import HttpTarget
from iojoule.targets.ports import free_port, holder, require_free
from iojoule.targets.probe import first_file, get, is_loopback
from iojoule.targets.process import ServerProcess
from iojoule.targets.server import Job, Launch, Server

#: server -> the function that launches it. A new server is one new file and one line here.
SERVERS: dict[str, str] = {
    "nginx": "iojoule.targets.nginx:launch",
    "apache2": "iojoule.targets.apache2:launch",
    "builtin": "iojoule.targets.builtin_server:launch",
}

_PATIENCE = 15.0  # seconds a server may take to answer its first request
_ATTEMPTS = 3  # a free port may be taken by someone else before the server opens it
_LAST_LINES = 12


@dataclass
class RunningTarget:
    """A server that answers. `warnings` are for the run's events; `certificate` is what a client must trust."""

    config: HttpTarget
    url: str
    warnings: list[str]
    certificate: Path | None = None
    launch: Launch | None = None
    server_header: str = ""
    _process: ServerProcess | None = None
    _job: Job | None = field(default=None, repr=False)

    @property
    def pid(self) -> int | None:
        """Master process of a server of ours."""
        return self._process.pid if self._process else None

    def alive(self) -> bool:
        """Whether our server's master runs, or a foreign server still takes connections."""
        if self._process:
            return self._process.alive()
        try:
            get(self.url, timeout=2.0)
        except OSError:
            return False
        return True

    def describe(self) -> dict[str, Any]:
        """The target as the manifest holds it; plain JSON."""
        described: dict[str, Any] = {
            "name": self.config.name,
            "kind": self.config.kind,
            "server": self.config.server or "url",
            "url": self.url,
            "version": self.launch.version if self.launch else self.server_header,
            "server_header": self.server_header,
            "tls": self.url.startswith("https:"),
        }
        if self.launch and self._job:
            described |= {
                "workers": self.config.workers,
                # Those of the builtin server are its own.
                "max_connections": self.config.max_connections if self.launch.config_text else None,
                "keepalive_timeout_s": self.config.keepalive_timeout if self.launch.config_text else None,
                "user": self.launch.user,
                "content": str(self._job.content),
                "command": self.launch.command,
                "config": self.launch.config_text,
            }
        return described

    def log_tail(self) -> str:
        """The last lines of the server's error log and of what it said on its terminal."""
        return "" if self._job is None else _last_lines(self._job)

    def kill(self) -> None:
        """Kill a server of ours as a crash would; nothing for a foreign one."""
        if self._process:
            self._process.kill()

    def start(self) -> None:
        """Start a server of ours (again: same command, same port); returns when it answers."""
        if self._job is None or self.launch is None:
            raise ValueError("only a server of ours can be started")
        self.stop()
        self._process, self.server_header = _start(self._job, self.launch, self.url)

    def stop(self) -> None:
        """Stop a server of ours; may be called again."""
        if self._process:
            self._process.stop()

    def close(self) -> None:
        """Stop it for good."""
        self.stop()
        while self.launch and self.launch.keep_open:
            os.close(self.launch.keep_open.pop())


@contextmanager
def open_http(config: HttpTarget, opening: Opening) -> Iterator[RunningTarget]:
    """Bring the server up; it is stopped when the block is left. The folder gets its configuration and logs.

    HostError if it cannot come up. Call it from a thread that outlives the block (see `process`).
    """
    running = _reach(config) if config.url is not None else _launch(config, opening)
    try:
        yield running
    finally:
        running.close()


def _reach(config: HttpTarget) -> RunningTarget:
    url = config.url or ""
    try:
        header = get(url, timeout=5.0)[1]
    except OSError as error:
        raise HostError(
            f"no web server answers at {url}: {error}",
            missing=url,
            remedy='start the server, or let iojoule start one with server = "nginx"',
        ) from None
    host = urlsplit(url).hostname or ""
    warnings = [] if is_loopback(host) else [f"{host} is another machine: its power is not that of this one"]
    return RunningTarget(config, url, warnings, server_header=header)


def _launch(config: HttpTarget, opening: Opening) -> RunningTarget:
    if opening.content is None or not opening.content.is_dir():
        raise HostError(f"there is no content directory {opening.content}", missing=str(opening.content))
    content, folder = opening.content.resolve(), opening.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    module, name = SERVERS[config.server or ""].split(":")
    make: Server = getattr(import_module(module), name)
    certificate = self_signed(folder) if config.tls else None
    for attempts_left in reversed(range(_ATTEMPTS)):
        if config.port is not None:
            require_free(config.port)
        job = Job(config, content, folder, config.port or free_port(), certificate)
        launch = make(job)
        url = f"{'https' if config.tls else 'http'}://{job.address}/"
        chain = certificate.chain if certificate else None
        running = RunningTarget(config, url, list(launch.warnings), chain, launch, _job=job)
        try:
            running.start()
            return running
        except BaseException as error:
            running.close()
            lost_the_port = isinstance(error, HostError) and error.missing == f"port {job.port}"
            if config.port is not None or not lost_the_port or not attempts_left:
                raise
    raise AssertionError("the last attempt returns or raises")


def _start(job: Job, launch: Launch, url: str) -> tuple[ServerProcess, str]:
    """Start the server and wait for its first answer; its process and its Server header."""
    for stale in (job.error_log, _output(job)):
        stale.unlink(missing_ok=True)
    process = ServerProcess(launch.command, _output(job), launch.keep_open)
    try:
        return process, _await_answer(job, launch, process, url)
    except BaseException:
        process.stop()
        raise


def _await_answer(job: Job, launch: Launch, process: ServerProcess, url: str) -> str:
    """The Server header of the first answer. A file of the content is asked for: only its 200 proves the server."""
    sample = first_file(job.content)
    name = job.config.server or ""
    deadline = time.monotonic() + _PATIENCE
    while process.alive():
        try:
            status, header = get(url + sample, timeout=5.0)
        except OSError as error:
            if time.monotonic() > deadline:
                raise HostError(f"{name} does not answer at {url}: {error}\n{_last_lines(job)}", missing=name) from None
            time.sleep(0.02)
            continue
        if _is_someone_elses(job.port, process):
            break  # another got the port first; our server is about to give up
        if sample and status != 200:
            who = f" as user {launch.user}" if launch.user else ""
            text = f"{name} runs{who} but answers {status} for {job.content / sample}\n{_last_lines(job)}"
            raise HostError(text, missing=str(job.content / sample), remedy=f"chmod -R o+rX {job.content}")
        return header
    if _is_someone_elses(job.port, process):
        raise HostError(f"port {job.port} was taken by another server", missing=f"port {job.port}")
    process.stop()
    status_text = f"exit status {process.exit_status()}"
    raise HostError(f"{name} did not come up ({status_text})\n{_last_lines(job)}", missing=name)


def _is_someone_elses(port: int, process: ServerProcess) -> bool:
    """Whether it is known that the listener is not of our server's process group. Two runs may start at once."""
    who = holder(port)
    try:
        return who is not None and os.getpgid(who[0]) != process.pid
    except ProcessLookupError:
        return False


def _output(job: Job) -> Path:
    return job.folder / "server.out"


def _last_lines(job: Job) -> str:
    logs = [log.read_text(errors="replace").splitlines() for log in (job.error_log, _output(job)) if log.exists()]
    return "\n".join(f"  {line}" for line in [line for log in logs for line in log][-_LAST_LINES:])
