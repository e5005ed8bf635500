"""What many tests need from the machine. A missing part skips loudly, and fails where everything must be there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pytest
from hypothesis import settings

# How long an example takes tells of what else the machine does, not of the law.
settings.register_profile("iojoule", deadline=None)
settings.load_profile("iojoule")

# A shell that starts the tests in the background lets them ignore Ctrl-C, and with them every program they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent

CHROMIUM = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def lacking(what: str, remedy: str) -> NoReturn:
    """Skip and say what would help; with IOJOULE_REQUIRE_ALL=1 a skip is a failure."""
    text = f"{what} is missing; {remedy}"
    if os.environ.get("IOJOULE_REQUIRE_ALL") == "1":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


@pytest.fixture(scope="session")
def require() -> Callable[[str, str], str]:
    """`require(tool, package)` is the path of an outside tool; where it is not installed the test cannot run."""

    def path_of(tool: str, package: str) -> str:
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
        return which(tool, path=path) or lacking(tool, f"apt-get install {package}")

    return path_of


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of real logs and traces."""
    given = os.environ.get("IOJOULE_REFERENCE_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else lacking(f"reference data ({folder})", "set IOJOULE_REFERENCE_DATA")


@pytest.fixture(scope="session")
def golden(reference_data: Path) -> Path:
    """The golden vectors that stand beside the reference data."""
    folder = reference_data.parent / "golden"
    return folder if folder.is_dir() else lacking(f"golden vectors ({folder})", "put them beside the reference data")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike tmp_path: the workers of a server started by root are someone else."""
    with TemporaryDirectory(prefix="iojoule-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def browser(require: Callable[[str, str], str]) -> Iterator[Any]:
    """A headless Chromium; one for all tests, since its driver runs once in a process."""
    executable = require("chromium", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM))
        yield chromium
        chromium.close()
