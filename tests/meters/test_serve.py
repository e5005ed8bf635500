"""A server of meters and its clients: whatever breaks between them, no window is lost, doubled or invented."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import Client, Served, Wire, check_equal, environment, reading

from iojoule.meters.serve.credentials import CredentialError, Credentials, check_listen, token

TOKEN = "0123456789abcdef0123456789abcdef"


def test_two_clients_get_the_windows_of_the_servers_own_record_whatever_strangers_say(tmp_path: Path) -> None:
    garbage = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\xff\xfe\n",
        b"{}\n",
        b"[1]\n",
        b'{"hello": 1}\n',
        b"x" * 3_000_000,
    ]
    with (
        Served(tmp_path) as served,
        reading(served.port) as one,
        reading(served.port, meter="fan", name="again") as two,
    ):
        for data in garbage:
            with socket.create_connection(("127.0.0.1", served.port), 5) as stranger:
                stranger.settimeout(5)
                with contextlib.suppress(ConnectionError):
                    stranger.sendall(data)
                    while stranger.recv(4096):
                        pass
        one.more()
        two.more()
        described = one.meters.descriptions()[0]
        final = one.meters.close()["fan"]
        two.meters.close()
        check_equal(one, served)
        check_equal(two, served)
    assert one.gaps == two.gaps == [] and one.events == two.events == []
    assert described["channels"][0]["u_abs"] == 0.1 and described["channels"][0]["boundary"] == "modelled"
    assert described["identity"]["driver"] == "constant"
    assert final is not None and final["received"] == len(one.readings) and final["lost"] == 0


def test_a_server_killed_and_started_again_leaves_one_gap_and_loses_nothing(tmp_path: Path) -> None:
    with Served(tmp_path) as served, reading(served.port) as client:
        client.more()
        before = len(client.readings)
        served.end(signal.SIGKILL)
        client.event("lost")
        served.start()
        client.event("back")
        client.more()
        client.meters.close()
        check_equal(client, served)
    assert len(client.gaps) == 1 and client.gaps[0] >= before


def test_a_wire_that_is_cut_in_the_middle_of_a_line_or_stalled_is_no_gap(tmp_path: Path) -> None:
    with Served(tmp_path) as served:
        wire = Wire(served.port)
        with reading(wire.port) as client:
            client.more(5)
            for _ in range(3):
                # A line of one reading is longer than 100 bytes: 50 more end within it.
                wire.cut_after = wire.passed + 50
                cuts = wire.cuts
                while wire.cuts == cuts:
                    time.sleep(0.01)
                client.more(5)
            wire.stalled.set()
            time.sleep(1.0)
            wire.stalled.clear()
            client.more(25)
            client.meters.close()
            check_equal(client, served)
        wire.close()
    kinds = [kind for kind, _ in client.events if kind != "retry"]
    assert client.gaps == [] and kinds == ["lost", "back"] * (len(kinds) // 2) and len(kinds) >= 6


def test_a_reader_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """The process of the client's meter dies; its supervisor knows where it left off."""
    with Served(tmp_path) as served, reading(served.port) as client:
        client.more()
        process = client.meters._meters[0].process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        client.event("back")
        client.more(20)
        client.meters.close()
        check_equal(client, served)
    assert client.gaps == []


def test_a_token_opens_and_is_never_sent(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "wrong").write_text(TOKEN[::-1])
    with Served(tmp_path, "--token-file", str(tmp_path / "token")) as served:
        with reading(served.port, tmp_path / "raw", token_file=str(tmp_path / "token")) as client:
            client.more(3)
        said = (tmp_path / "raw" / "fan.log").read_bytes()
        assert b'"rows"' in said and TOKEN.encode() not in said
        assert "wrong or missing" in client_events(served.port, {"token_file": str(tmp_path / "wrong")})
        assert "asks for a token" in client_events(served.port, {})


def client_events(port: int, keys: dict[str, str]) -> str:
    """What a client that is not let in says."""
    client = Client(port, **keys)
    with client.meters:
        assert "fan" in client.meters.wait_first_good(30)
        return client.event("fatal")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory, require: Callable[[str, str], str]) -> Path:
    """An authority, a server for 127.0.0.1 and a client, made by openssl."""
    openssl, folder = require("openssl", "openssl"), tmp_path_factory.mktemp("certificates")

    def run(*words: str) -> None:
        subprocess.run([openssl, *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=bench authority")
    for name, extension in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-subj", f"/CN={name}", "-addext", extension)
        run("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", *signed)
    return folder


@pytest.mark.e2e
def test_mutual_tls_lets_in_who_shows_a_certificate(tmp_path: Path, certificates: Path) -> None:
    ca, cert, key = (str(certificates / name) for name in ("ca.pem", "server.pem", "server.key"))
    ours = {"tls_cert": str(certificates / "client.pem"), "tls_key": str(certificates / "client.key"), "tls_ca": ca}
    with Served(tmp_path, "--tls-cert", cert, "--tls-key", key, "--tls-ca", ca) as served:
        with reading(served.port, **ours) as client:
            client.more(5)
            client.meters.close()
            check_equal(client, served)
        # A plain client says nothing the server could take for a handshake, and hears nothing.
        with socket.create_connection(("127.0.0.1", served.port), 5) as plain:
            plain.sendall(b'{"hello": 1}\n')
            assert b"iojoule" not in plain.recv(100)
        # One without a certificate is turned away by TLS itself.
        context = ssl.create_default_context(cafile=ca)
        with socket.create_connection(("127.0.0.1", served.port), 5) as raw, pytest.raises(OSError):
            stranger = context.wrap_socket(raw, server_hostname="127.0.0.1")
            while stranger.recv(100):
                pytest.fail("a stranger was let in")
            raise ConnectionResetError
        with reading(served.port, **ours) as client:
            client.more(3)


def test_nobody_listens_wider_without_a_credential(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match="--token-file"):
        check_listen("0.0.0.0", Credentials())
    check_listen("0.0.0.0", Credentials(token=TOKEN.encode()))
    check_listen("::1", Credentials())
    (tmp_path / "bench.toml").write_text('[[meter]]\nkind = "constant"\nwatts = 1\nu_w = 0\n')
    command = [sys.executable, "-m", "iojoule", "meter", "serve", "bench.toml", "--listen", "0.0.0.0:0"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2 and "--tls-ca" in done.stderr


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2")
    with pytest.raises(CredentialError, match="7 characters, 16 are needed"):
        token(tmp_path / "token")
