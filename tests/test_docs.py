"""The manual is true: its commands run, its experiments are accepted, its Python works, its pages stand alone.

A block is taken as it stands: `console` (each `$ iojoule` line is run, the lines below it must appear, `...` stands
for anything, `# exit 1` at the end gives the exit code), `toml` (with a title it is also written to that file), `ini`
(a fio job file: written to the file of its title), `python` (one namespace per page). All blocks of a page share a
folder that holds a small `access.log` and `examples`.
In `sh` blocks, which hold what a reader fills in, verbs, options and make targets must exist.
`text` is only for reading, and so is a block after `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import doctest
import os
import random
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))] if page.exists()]
_FENCE = re.compile(
    r"^(?P<margin>[ \t]*)```(?P<language>[a-z]+)(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=margin)```[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*$")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    info: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    whole = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(whole):
        before = whole[: match.start()]
        if not _NOT_RUN.search(before):
            line = before.count("\n") + 1
            yield Block(page, line, match["language"], match["info"].strip(), dedent(match["text"]))


@dataclass(frozen=True)
class Command:
    """One `$ iojoule` line with what is said to come out of it."""

    words: list[str]
    exit_code: int
    output: list[str]


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    ours = False
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            typed, _, remark = line[2:].partition(" # ")
            code = re.search(r"\bexit (\d+)", remark)
            words = shlex.split(typed)
            ours = Path(words[0]).name == "iojoule"
            if ours:
                found.append(Command(words[1:], int(code[1]) if code else 0, []))
        elif ours and line.strip():
            found[-1].output.append(line.strip())
    return found


def missing_line(expected: list[str], said: str) -> str | None:
    """The first expected line that does not come, in order, in what was said; `...` stands for anything."""
    rest = iter(" ".join(line.split()) for line in said.splitlines())
    for line in expected:
        if line in ("...", "…"):
            continue
        parts = re.split(r"\.\.\.|…", " ".join(line.split()))
        pattern = re.compile(".*".join(re.escape(part) for part in parts))
        if not any(pattern.fullmatch(one) for one in rest):
            return line
    return None


def iojoule(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    environment = os.environ | {"PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def small_log(requests: int = 400) -> str:
    """A few hours of a small site in the Combined format; the same at every call."""
    draw = random.Random(1)
    objects = [(f"/pages/{n}.html", 900 + 311 * n) for n in range(20)] + [(f"/img/{n}.gif", 5000) for n in range(10)]
    at, lines = datetime(2005, 4, 5, 9, 0, 0, tzinfo=UTC), []
    for _ in range(requests):
        at += timedelta(seconds=draw.expovariate(1 / 20))
        path, size = draw.choice(objects)
        client = f"10.0.0.{draw.randint(1, 40)}"
        stamp = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
        lines.append(f'{client} - - [{stamp}] "GET {path} HTTP/1.1" 200 {size} "-" "Mozilla/5.0"')
    return "\n".join(lines) + "\n"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """The folder in which a page's blocks are typed."""
    tmp_path.chmod(0o755)
    (tmp_path / "access.log").write_text(small_log())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_a_page_is_true(page: Path, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        match block.language:
            case "console":
                for command in commands(block):
                    run_command(block, command, bench)
            case "toml":
                accept_toml(block, bench)
            case "ini":
                (bench / block.info.removeprefix('title="').removesuffix('"')).write_text(block.text)
            case "python":
                run_python(block, namespace)
            case "sh":
                know_words(block, bench)


def run_command(block: Block, command: Command, folder: Path) -> None:
    done = iojoule(*command.words, folder=folder)
    said = done.stdout + done.stderr
    shown = f"{block.place}: iojoule {shlex.join(command.words)}"
    assert done.returncode == command.exit_code, f"{shown}\nexit {done.returncode}\n{said}"
    lost = missing_line(command.output, said)
    assert lost is None, f"{shown}\ndoes not say: {lost}\nbut:\n{said}"


def know_words(block: Block, folder: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in block.text.splitlines():
        match shlex.split(line, comments=True):
            case ["make", *targets]:
                for wanted in targets:
                    assert re.search(rf"^{re.escape(wanted)}:", makefile, re.MULTILINE), f"{block.place}: {line}"
            case ["iojoule", verb, *words]:
                usage = iojoule(verb, "--help", folder=folder).stdout
                if words and re.search(rf"^\W*{re.escape(words[0])}\s", usage, re.MULTILINE):  # a verb of a verb
                    usage = iojoule(verb, words[0], "--help", folder=folder).stdout
                assert usage, f"{block.place}: there is no verb {verb}"
                for option in (word.partition("=")[0] for word in words if word.startswith("-")):
                    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", usage), f"{block.place}: {option}"


def accept_toml(block: Block, folder: Path) -> None:
    sections = tomllib.loads(block.text)
    title = re.search(r'title="([^"]+)"', block.info)
    file = folder / (title[1] if title else f"block-{block.line}.toml")
    file.write_text(block.text)
    if "experiment" in sections:
        done = iojoule("plan", str(file), folder=folder)
        assert done.returncode == 0, f"{block.place}\n{done.stdout}{done.stderr}"


def run_python(block: Block, namespace: dict[str, object]) -> None:
    if ">>>" in block.text:
        example = doctest.DocTestParser().get_doctest(block.text, namespace, block.place, str(block.page), block.line)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert runner.run(example, out=said.append, clear_globs=False).failed == 0, "".join(said)
        namespace |= example.globs
    else:
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), namespace)


def test_a_command_is_read_with_its_exit_code_and_its_output() -> None:
    text = "$ iojoule plan \\\n  a.toml # exit 2\nerror: ...\n\n$ make demo\nreport: x\n$ iojoule host\n"
    found = commands(Block(ROOT / "README.md", 1, "console", "", text))
    assert found == [Command(["plan", "a.toml"], 2, ["error: ..."]), Command(["host"], 0, [])]


@pytest.mark.parametrize(
    ("expected", "lost"),
    [
        (["a  1 W", "..."], None),
        (["...", "report: ...html"], None),
        (["a 1 W", "report: ...json"], "report: ...json"),
        (["report: runs/x.html", "a 1 W"], "a 1 W"),
    ],
)
def test_expected_output_must_come_in_order(expected: list[str], lost: str | None) -> None:
    assert missing_line(expected, "a   1 W\nb\nreport: runs/x.html\n") == lost


def test_every_decision_is_listed() -> None:
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in (DOCS / "decisions").glob("0*.md") if f"({page.name})" not in index] == []


class _Assets(HTMLParser):
    """What a page fetches by itself when it is opened; links that a reader may follow are not that."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "prev", "next", "alternate"):
            return
        fetched = given.get("src") or (given.get("href") if tag == "link" else None) or given.get("srcset")
        if fetched:
            self.found.append(fetched)


def external_assets(page: str) -> list[str]:
    parser = _Assets()
    parser.feed(page)
    return [asset for asset in parser.found if re.match(r"(https?:)?//", asset)]


def test_an_external_asset_is_seen_and_a_link_is_not_one() -> None:
    page = '<link rel="stylesheet" href="//cdn.example/x.css"><script src="https://cdn.example/x.js"></script>'
    assert len(external_assets(page)) == 2
    assert external_assets('<a href="https://www.rfc-editor.org/">RFC</a><img src="x.png">') == []


def test_the_manual_builds_without_a_warning_and_asks_no_other_host_for_anything(tmp_path: Path) -> None:
    site = tmp_path / "site"
    # Not --quiet: it keeps the warnings from being counted.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))  # and the page for what is not found
    for page in pages:
        assert external_assets(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet
