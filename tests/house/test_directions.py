"""The rooms depend on each other in the directions the design allows, and importing the package stays cheap."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "units": set(),
    "record": {"units"},
    "trace": {"units", "record"},
    "disk": {"units"},
    "array": {"units", "disk"},
    "sim": {"units", "record", "trace", "disk", "array"},
    "load": {"units", "record"},
    "python": {"units", "record", "trace", "disk", "array", "sim", "load"},
}
"""units ← record ← {trace, load}; units ← disk ← array ← sim; record, trace ← sim; everything ← python."""


def test_crates_depend_only_in_the_allowed_directions() -> None:
    for crate, allowed in ALLOWED.items():
        manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
        inside = {
            name.removeprefix("iojoule-") for name in manifest.get("dependencies", {}) if name.startswith("iojoule-")
        }
        assert inside <= allowed, crate


def test_every_crate_has_its_place_in_the_table_of_directions() -> None:
    assert {path.name for path in (ROOT / "crates").iterdir() if (path / "Cargo.toml").exists()} == ALLOWED.keys()


def test_importing_iojoule_or_asking_for_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom iojoule.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'scipy', 'plotly', 'pyarrow', 'duckdb', 'numpy', 'pydantic', 'pyvisa'} & set(sys.modules)\n"
        "sys.exit(','.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout


def test_python_rooms_depend_only_in_the_allowed_directions() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
