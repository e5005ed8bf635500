"""What every web server that we start has in common: the job it is given, and the launch it makes of it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from iojoule.errors import ConfigError, HostError
from iojoule.targets.certificate import Certificate
from iojoule.targets.http import HttpTarget
from iojoule.targets.ports import LOOPBACK

#: Debian puts servers where only root's PATH looks.
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")

#: The types a static site needs; the same for every server, so that their answers have the same headers.
MIME_TYPES = {
    "text/html": "html htm",
    "text/css": "css",
    "text/plain": "txt",
    "application/javascript": "js",
    "application/json": "json",
    "application/pdf": "pdf",
    "image/gif": "gif",
    "image/jpeg": "jpg jpeg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "video/mpeg": "mpg mpeg",
}


@dataclass(frozen=True)
class Job:
    """What a server has to do: serve `content` on `port`, keeping its own files in `folder`."""

    config: HttpTarget
    content: Path
    folder: Path
    port: int
    certificate: Certificate | None

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def error_log(self) -> Path:
        return self.folder / "error.log"


@dataclass(frozen=True)
class Launch:
    """How the server is started, and what is to be told about it."""

    command: list[str]
    version: str
    config_text: str
    user: str
    warnings: list[str] = field(default_factory=list)
    keep_open: list[int] = field(default_factory=list)


#: A server is one function: job -> launch.
Server = Callable[[Job], Launch]


def find_binary(name: str, package: str) -> str:
    """Path of a server's binary; HostError with the command that installs it."""
    path = os.pathsep.join(filter(None, [os.environ.get("PATH", ""), *SYSTEM_FOLDERS]))
    found = which(name, path=path)
    if found is None:
        raise HostError(f"{name} is not installed", missing=name, remedy=f"apt-get install {package}")
    return found


def version_line(command: list[str]) -> str:
    """What the server says of itself (nginx says it on stderr), first line, without the words before the colon."""
    said = subprocess.run(command, capture_output=True, text=True, timeout=10)
    first = next(iter((said.stdout or said.stderr).splitlines()), "")
    return first.partition(": ")[2] or first


def quoted(path: Path) -> str:
    """A path as a configuration file takes it; ConfigError for what neither nginx nor Apache can be told."""
    text = str(path)
    if any(character in text for character in '"$\\\n\r'):
        raise ConfigError(
            f"a web server cannot be given the folder {text!r}: its name holds a quote, a backslash or a dollar sign",
            key="target.content",
            value=text,
        )
    return f'"{text}"'


def file_limit(connections: int) -> tuple[int, list[str]]:
    """Open files for that many connections (a socket and a file each), as far as the hard limit allows; warnings."""
    wanted = 2 * connections + 64
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if os.geteuid() == 0 or hard == resource.RLIM_INFINITY or hard >= wanted:
        return wanted, []
    return hard, [f"the limit of open files ({hard}) is too low for {connections} connections; see ulimit -Hn"]
