"""Real nginx and real Apache, started by us, serve the content and are gone when we are."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from iojoule.errors import HostError
from iojoule.targets import running as running_module
from iojoule.targets import server as servers
from iojoule.targets.base import Opening
from iojoule.targets.http import HttpTarget
from iojoule.targets.ports import free_port
from iojoule.targets.running import RunningTarget, open_http

pytestmark = pytest.mark.e2e

Require = Callable[[str, str], str]

PAGE = bytes(range(256)) * 100
PACKAGES = {"nginx": "nginx-light", "apache2": "apache2-bin"}


@pytest.fixture(params=["nginx", "apache2"])
def configured(request: pytest.FixtureRequest, require: Require) -> str:
    """A server with a program and a configuration file of its own."""
    server: str = request.param
    require(server, PACKAGES[server])
    return server


@pytest.fixture(params=["nginx", "apache2", "builtin"])
def name(request: pytest.FixtureRequest, require: Require) -> str:
    """Any server that we start."""
    server: str = request.param
    if server in PACKAGES:
        require(server, PACKAGES[server])
    return server


@pytest.fixture
def content(open_folder: Path) -> Path:
    content = open_folder / "content"
    (content / "deep" / "er").mkdir(parents=True)
    (content / "deep" / "er" / "page.html").write_bytes(PAGE)
    return content


def target(server: str, **keys: Any) -> HttpTarget:
    return HttpTarget.model_validate({"name": server, "kind": "http", "server": server, **keys})


@pytest.fixture
def running(name: str, content: Path, open_folder: Path) -> Iterator[RunningTarget]:
    with open_http(target(name), Opening(open_folder / "server", content)) as running:
        yield running


def connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)


def is_open(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as probe:
        return probe.connect_ex((parts.hostname, parts.port)) == 0


def wait_until_closed(url: str, patience: float = 10.0) -> None:
    deadline = time.monotonic() + patience
    while is_open(url):
        assert time.monotonic() < deadline, f"something still listens at {url}"
        time.sleep(0.02)


def test_the_content_is_served_byte_for_byte_over_one_kept_connection(running: RunningTarget) -> None:
    connection = connect(running.url)
    ours = set()
    for _ in range(3):
        connection.request("GET", "/deep/er/page.html")
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, PAGE)
        assert answer.getheader("Content-Type") == "text/html"
        ours.add(connection.sock.getsockname())
    assert len(ours) == 1, "the server closed a connection that it should keep"
    connection.request("HEAD", "/deep/er/page.html")
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Content-Length"), answer.read()) == (200, str(len(PAGE)), b"")
    connection.request("GET", "/not/there")
    assert connection.getresponse().status == 404
    connection.close()


def test_the_description_says_which_server_and_how_it_was_configured(running: RunningTarget, content: Path) -> None:
    described = json.loads(json.dumps(running.describe()))
    assert described["version"].lower().startswith(("nginx/", "apache/", "iojoule/"))
    assert described["server_header"].partition("/")[0].lower() in described["version"].lower()
    assert bool(described["config"].strip()) == (described["server"] != "builtin")
    assert str(content) in described["config"] + " ".join(described["command"])
    assert described["content"] == str(content)
    assert running.alive()


def test_no_access_log_is_written(running: RunningTarget, open_folder: Path) -> None:
    connection = connect(running.url)
    connection.request("GET", "/deep/er/page.html")
    connection.getresponse().read()
    connection.close()
    assert not any(b"page.html" in file.read_bytes() for file in (open_folder / "server").rglob("*") if file.is_file())


def test_leaving_the_block_closes_the_port(name: str, content: Path, open_folder: Path) -> None:
    with open_http(target(name), Opening(open_folder / "server", content)) as running:
        assert is_open(running.url)
    assert not running.alive()
    assert not is_open(running.url)


def test_an_error_inside_the_block_stops_the_server_too(name: str, content: Path, open_folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_http(target(name), Opening(open_folder / "server", content)) as running:
        raise ZeroDivisionError
    assert not is_open(running.url)


def test_a_killed_server_is_seen_dead_and_can_be_started_again(running: RunningTarget) -> None:
    running.kill()
    assert not running.alive()
    wait_until_closed(running.url)
    running.start()
    assert running.alive()
    assert is_open(running.url)


def test_workers_do_not_outlive_a_master_that_was_killed(name: str, content: Path, open_folder: Path) -> None:
    with open_http(target(name, workers=2), Opening(open_folder / "server", content)) as running:
        assert running.pid
        os.kill(running.pid, signal.SIGKILL)
        while running.alive():
            time.sleep(0.01)
    wait_until_closed(running.url)


RUNNER = """
import sys, time
from pathlib import Path
from iojoule.targets.http import HttpTarget
from iojoule.targets.ports import free_port
from iojoule.targets.base import Opening
from iojoule.targets.running import open_http
with open_http(HttpTarget(name="t", server=sys.argv[1]), Opening(Path(sys.argv[3]), Path(sys.argv[2]))) as running:
    print(running.url, flush=True)
    time.sleep(600)
"""


def test_a_killed_runner_takes_the_server_along(name: str, content: Path, open_folder: Path) -> None:
    command = [sys.executable, "-c", RUNNER, name, str(content), str(open_folder / "server")]
    runner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    url = runner.stdout.readline().strip()
    assert is_open(url)
    runner.kill()
    runner.communicate()
    wait_until_closed(url)


def test_a_port_in_use_is_named_with_its_holder(name: str, content: Path, open_folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(HostError, match=rf"port {port} is in use by process {os.getpid()}"),
            open_http(target(name, port=port), Opening(open_folder / "server", content)),
        ):
            pass


def test_a_port_lost_to_another_server_is_given_up_for_a_free_one(
    name: str, content: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs that start at once may choose the same port; the other's server may even serve the same files."""
    with open_http(target(name), Opening(open_folder / "first", content)) as first:
        taken = urlsplit(first.url).port
        ports = iter([taken, free_port()])
        monkeypatch.setattr(running_module, "free_port", lambda: next(ports))
        with open_http(target(name), Opening(open_folder / "second", content)) as second:
            assert urlsplit(second.url).port != taken
            assert second.alive()
        assert first.alive()
        assert is_open(first.url)


def test_a_missing_server_is_named_with_the_command_that_installs_it(
    configured: str, content: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(servers, "SYSTEM_FOLDERS", ())
    with (
        pytest.raises(HostError, match=f"{configured} is not installed") as caught,
        open_http(target(configured), Opening(open_folder / "server", content)),
    ):
        pass
    assert caught.value.remedy == f"apt-get install {PACKAGES[configured]}"


def test_a_server_that_does_not_come_up_shows_the_end_of_its_log(
    configured: str, content: Path, open_folder: Path
) -> None:
    with (
        pytest.raises(HostError, match=r"did not come up[\s\S]*NoSuchDirective"),
        open_http(target(configured, directives="NoSuchDirective on;"), Opening(open_folder / "server", content)),
    ):
        pass


def test_more_directives_reach_the_server(configured: str, content: Path, open_folder: Path) -> None:
    closes = {"nginx": "keepalive_requests 1;", "apache2": "KeepAlive Off"}[configured]
    with open_http(target(configured, directives=closes), Opening(open_folder / "server", content)) as running:
        connection = connect(running.url)
        connection.request("GET", "/deep/er/page.html")
        assert connection.getresponse().getheader("Connection") == "close"
        connection.close()


@pytest.mark.parametrize(("keeps", "sockets"), [("0s", 2), ("30s", 1)])
def test_an_idle_connection_is_kept_as_long_as_said(
    configured: str, content: Path, open_folder: Path, keeps: str, sockets: int
) -> None:
    with open_http(target(configured, keepalive_timeout=keeps), Opening(open_folder / "server", content)) as running:
        connection = connect(running.url)
        ours = set()
        for _ in range(2):
            connection.request("GET", "/deep/er/page.html")
            ours.add(connection.sock.getsockname())
            connection.getresponse().read()
        assert len(ours) == sockets


def test_a_short_idle_time_is_understood_by_the_server(configured: str, content: Path, open_folder: Path) -> None:
    with open_http(target(configured, keepalive_timeout="250ms"), Opening(open_folder / "server", content)) as running:
        connection = connect(running.url)
        connection.request("GET", "/deep/er/page.html")
        connection.getresponse().read()
        assert connection.sock.recv(1) == b"", "an idle connection is closed by the server in the end"


def test_tls_is_served_with_a_certificate_a_client_can_be_told_to_trust(
    configured: str, content: Path, open_folder: Path, require: Require
) -> None:
    require("openssl", "openssl")
    with open_http(target(configured, tls=True), Opening(open_folder / "server", content)) as running:
        assert running.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=str(running.certificate))
        parts = urlsplit(running.url)
        connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=10, context=context)
        connection.request("GET", "/deep/er/page.html")
        assert connection.getresponse().read() == PAGE
        connection.close()


def test_content_below_a_closed_folder_is_served_all_the_same(name: str, content: Path, open_folder: Path) -> None:
    """Under root, Apache's workers may not enter a folder of root's; nginx's run as root."""
    open_folder.chmod(0o700)
    with open_http(target(name), Opening(open_folder / "server", content)) as running:
        connection = connect(running.url)
        connection.request("GET", "/deep/er/page.html")
        assert connection.getresponse().read() == PAGE
        connection.close()
        running.kill()
        running.start()
        warned = any("open descriptor" in warning for warning in running.warnings)
        assert warned == (name == "apache2" and os.geteuid() == 0)


def test_unreadable_content_is_refused_with_the_remedy(content: Path, open_folder: Path, require: Require) -> None:
    require("apache2", PACKAGES["apache2"])
    if os.geteuid() != 0:
        content.chmod(0o755)
        page = content / "deep" / "er" / "page.html"
        page.chmod(0)
    else:
        content.chmod(0o700)
    with (
        pytest.raises(HostError) as caught,
        open_http(target("apache2"), Opening(open_folder / "server", content)),
    ):
        pass
    assert "chmod -R o+rX" in (caught.value.remedy or "")


def test_a_foreign_server_is_reached_and_left_running(running: RunningTarget, open_folder: Path, content: Path) -> None:
    foreign = HttpTarget.model_validate({"name": "theirs", "kind": "http", "url": running.url})
    with open_http(foreign, Opening(open_folder / "none")) as reached:
        assert reached.alive()
        assert reached.describe()["server_header"] == running.server_header
        assert reached.warnings == []
    assert running.alive()


def test_a_foreign_server_that_is_not_there_is_the_administrators_business(content: Path, open_folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    foreign = HttpTarget.model_validate({"name": "gone", "kind": "http", "url": url})
    with pytest.raises(HostError, match="no web server answers"), open_http(foreign, Opening(open_folder)):
        pass
