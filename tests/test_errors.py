"""Errors say who can help, in words and as one JSON document."""

from __future__ import annotations

import json
import pickle

import pytest

from iojoule.errors import ConfigError, DeviceError, HostError, InternalError, IojouleError, RunFailed


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (HostError("x"), 3),
        (DeviceError("x"), 3),
        (RunFailed("x"), 4),
        (InternalError("x"), 101),
    ],
)
def test_each_class_has_the_exit_code_of_the_one_who_can_help(error: IojouleError, code: int) -> None:
    assert error.exit_code == code
    document = json.loads(json.dumps(error.to_json()))
    assert document["error"]["exit"] == code
    assert document["error"]["class"] == type(error).__name__


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    error = ConfigError.unknown_key("target.sever", ["server", "url", "port"], file="a.toml", line=7)
    assert str(error) == "a.toml:7: unknown key 'target.sever'; did you mean 'server'? (allowed: port, server, url)"
    assert error.to_json()["error"]["nearest"] == "server"


def test_a_key_near_to_nothing_gets_no_guess() -> None:
    assert ConfigError.unknown_key("zzzz", ["server"]).nearest is None


def test_a_host_error_ends_with_the_command_that_helps() -> None:
    error = HostError("nginx is not installed", missing="nginx", remedy="apt-get install nginx-light")
    assert str(error).splitlines()[-1].strip() == "remedy: apt-get install nginx-light"


def test_a_false_value_is_said_and_an_empty_one_is_left_out() -> None:
    document = DeviceError("no answer", retryable=False).to_json()["error"]
    assert document["retryable"] is False
    assert "device" not in document


def test_an_error_crosses_a_process_border_whole() -> None:
    error = pickle.loads(pickle.dumps(HostError("gone", missing="nginx", remedy="install it")))
    assert (error.message, error.missing, error.remedy) == ("gone", "nginx", "install it")
