"""The target section of an experiment says one thing or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from iojoule.targets import TARGETS, target_model
from iojoule.targets.http import HttpTarget


def target(**keys: Any) -> HttpTarget:
    return HttpTarget.model_validate({"name": "t", "kind": "http", **keys})


def test_every_kind_in_the_table_has_a_model_of_that_kind() -> None:
    for kind in TARGETS:
        model = target_model(kind)
        assert model.model_fields["kind"].default == kind
        assert model.model_config["extra"] == "forbid"


def test_a_server_gets_defaults_that_serve() -> None:
    found = target(server="nginx")
    assert (found.workers, found.max_connections, found.keepalive_timeout, found.port) == (1, 1024, 75.0, None)


def test_a_time_is_written_with_its_unit() -> None:
    assert target(server="nginx", keepalive_timeout="250ms").keepalive_timeout == 0.25


def test_an_address_ends_with_a_slash() -> None:
    assert target(url="http://127.0.0.1:8080").url == "http://127.0.0.1:8080/"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "exactly one of 'url'"),
        ({"url": "http://localhost/", "server": "nginx"}, "exactly one of 'url'"),
        ({"url": "http://localhost/", "workers": 4}, "'workers' belongs to a server that we start"),
        ({"url": "ftp://localhost/"}, "not a web address"),
        ({"url": "localhost:80"}, "not a web address"),
        ({"url": "http://localhost/?page=1"}, "names one page"),
        ({"url": "http://localhost:99999/"}, "out of range"),
        ({"server": "lighttpd"}, "'nginx', 'apache2' or 'builtin'"),
        ({"server": "nginx", "sever": 1}, "Extra inputs"),
        ({"server": "nginx", "port": 70000}, "65535"),
        ({"server": "builtin", "tls": True}, "speaks no TLS"),
        ({"server": "builtin", "keepalive_timeout": "1s"}, "'keepalive_timeout' of the builtin server is fixed"),
        ({"server": "builtin", "directives": "x on;"}, "no configuration file"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        target(**keys)


def test_a_content_folder_may_be_named() -> None:
    assert target(server="nginx", content="/srv/www").content == Path("/srv/www")
