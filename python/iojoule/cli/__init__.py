"""The command line: one file per verb, loaded only when it is asked for, so that ``iojoule --help`` stays quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

VERBS = {
    "run": "Run an experiment: load, meters, tables, report.",
    "plan": "Print what an experiment would do; touches nothing.",
    "show": "What a run or campaign recorded: figures, with their uncertainties.",
    "check": "Say whether a run is to be believed; exits 1 if not.",
    "compare": "Compare targets or campaigns against a baseline, in %.",
    "report": "Make the report of a campaign again.",
    "query": "SQL over the tables of a campaign.",
    "meter": "Meters without a workload: list, probe, record, import, sync-pulse, lab, truth, serve, export.",
    "host": "What this machine is, and what would disturb a measurement; restore.",
    "explain": "What a key of the experiment file means.",
    "trace": "Block traces: info, convert, head, synth.",
    "sim": "Drives and arrays on the simulated clock: run, validate, sweep.",
    "weblog": "Access logs: info, prepare, synth.",
    "model": "Laws that predict without simulating: sr-array, amdahl.",
    "demo": "The main job on a synthetic day of web traffic.",
}
"""Every verb and its line of help; the verb's module has its name and holds ``app``, a function or a Typer app."""

EPILOG = "Examples:  iojoule demo  ·  iojoule run experiment.toml  ·  iojoule weblog info access.log.gz --json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; leaves with the exit code of what was asked for."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    from iojoule.cli.console import guarded

    sys.exit(guarded(lambda: _app(words)(words, standalone_mode=False, prog_name="iojoule"), json="--json" in words))


def _app(words: Sequence[str]) -> Any:
    import typer

    app = typer.Typer(
        help="iojoule measures what a watt of storage buys.",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    wanted = next((word for word in words if not word.startswith("-")), None)

    @app.callback(invoke_without_command=True)
    def top(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
        if version:
            from iojoule import __version__

            print(f"iojoule {__version__}")
            raise typer.Exit

    for verb, line in VERBS.items():
        if verb != wanted:
            app.command(verb, help=line)(_stub)
            continue
        command = import_module(f"iojoule.cli.{verb}").app
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=verb)
        else:
            app.command(verb)(command)
    return app


def _stub() -> None:
    """Stands in the list of verbs; its module is loaded when it is the one asked for."""
