"""Values of options as people write them; what is none is refused with the option's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def value_of(text: str, meaning: Callable[[str], Value], option: str) -> Value:
    """What ``text`` means; ConfigError where ``meaning`` says that it means nothing."""
    from iojoule.errors import ConfigError

    try:
        return meaning(text)
    except ValueError as error:
        raise ConfigError(f"{option.removeprefix('--')}: {error}", key=option) from None
