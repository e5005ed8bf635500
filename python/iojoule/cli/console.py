"""What the command says, and where: results on stdout, progress on stderr, errors as text or as one JSON document."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iojoule.errors import Exit, InternalError, IojouleError


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def document(result: Mapping[str, Any]) -> None:
    """The one JSON document of ``--json``."""
    print(json.dumps(_finite(result), indent=1, default=str, allow_nan=False))


def answer(result: Mapping[str, Any], warnings: Sequence[str], text: Callable[..., str], *, as_json: bool) -> None:
    """A result as it was asked for, behind its warnings."""
    for warning in warnings:
        say(f"warning: {warning}")
    if as_json:
        document(result)
    else:
        print(text(result))


def _finite(value: Any) -> Any:
    """``value`` with null for what JSON has no number for: NaN and the infinities."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    return [_finite(entry) for entry in value] if isinstance(value, list | tuple) else value


def guarded(act: Callable[[], object], *, json: bool) -> int:
    """Run the command; every way it can end becomes an exit code, and no error ends in a traceback but our own."""
    import typer
    from typer import _click as click

    try:
        outcome = act()
        return outcome if isinstance(outcome, int) else 0
    except typer.Exit as leaving:
        return leaving.exit_code
    except (typer.Abort, KeyboardInterrupt):
        if json:
            document({"error": {"class": "Interrupted", "message": "interrupted", "exit": int(Exit.INTERRUPTED)}})
        say("interrupted")
        return Exit.INTERRUPTED
    except click.exceptions.ClickException as error:
        if json:
            document({"error": {"class": "ConfigError", "message": error.format_message(), "exit": int(Exit.CONFIG)}})
        else:
            error.show()
        return Exit.CONFIG
    except BrokenPipeError:
        # Whoever read our output has gone away: nothing is left to say, to them or about it.
        sys.stderr.close()
        return Exit.FINE
    except IojouleError as error:
        return _failed(error, json)
    except Exception as error:
        import traceback

        traceback.print_exc()
        return _failed(InternalError(f"{type(error).__name__}: {error} (please report this)"), json)


def _failed(error: IojouleError, as_json: bool) -> int:
    if as_json:
        document(error.to_json())
    else:
        say(f"{type(error).__name__}: {error}")
    return int(error.exit_code)
