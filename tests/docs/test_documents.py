"""The documentation is true: links lead somewhere, commands that it names exist, the glossary is in order."""

from __future__ import annotations

import re
from pathlib import Path

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, LinkKind
from commonplace.registration import registered
from shell import Shell
from support import ROOT

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
MADE = {"benchmarks/results.json"}
METHODS = {"tools/list", "tools/call"}
"""Methods of the protocol, which look like paths."""
"""Named as what a command writes."""
FOLDERS = re.compile(r"`((?:src|faces|services|store|index|embed|domain|tests|tools|examples|benchmarks)/[\w./-]*)`")


def _read(page: Path) -> Document:
    return read_document(Address(page.relative_to(ROOT).as_posix()), page.read_bytes())


@each_case("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in _read(page).links:
        assert link.kind in {LinkKind.MARKDOWN, LinkKind.IMAGE}, f"{link.raw}: browsers know no wikilinks"
        target = (page.parent / link.target) if link.target else page
        assert target.exists(), f"{link.raw} leads nowhere"
        if link.fragment:
            anchors = {section.anchor for section in _read(target.resolve()).sections}
            assert link.fragment in anchors, f"{link.raw} names no heading"


@each_case("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets


@each_case("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_folder_and_file_that_is_named_exists(page: Path) -> None:
    for name in set(FOLDERS.findall(page.read_text(encoding="utf-8"))) - MADE - METHODS:
        assert (ROOT / name).exists() or (ROOT / "src" / "commonplace" / name).exists(), name


def test_every_module_of_the_map_exists() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", text)}
    present = {path.name for path in (ROOT / "src" / "commonplace").rglob("*.py")}
    assert modules
    assert modules <= present


def test_every_layer_of_the_product_is_on_the_map() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "commonplace"
    parts = [part.name for part in package.iterdir() if part.is_dir() and (part / "__init__.py").exists()]
    parts += [part.name for part in package.glob("*.py") if not part.name.startswith("__")]
    assert [part for part in parts if f"`{part}`" not in text and f"`{part}/`" not in text] == []


def test_the_page_of_the_command_line_names_every_command_and_no_other() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    sentence = page[page.index("`commonplace mcp`, `serve`") :].partition(". ")[0]
    named = [name.removeprefix("commonplace ") for name in re.findall(r"`([^`]+)`", sentence)]
    listed = _help().partition("Commands:")[2].partition("Exit codes")[0]
    assert named == re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def test_every_option_of_the_readme_is_known_to_a_command_that_it_shows() -> None:
    known_text = "".join(_help(command) for command in ("mcp", "search", "connect", "serve"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [
        option for option in re.findall(r"`(--[a-z-]+)", readme) if option not in known_text and option != "--help"
    ] == []


def test_the_readme_names_every_toolset() -> None:
    rows = re.findall(r"^\| `([a-z]+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(registration.name for registration in registered())


def _help(*command: str) -> str:
    return Shell(ROOT, {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}).ok(*command, "--help").text


def test_the_glossary_is_sorted_and_every_page_for_developers_leads_to_it() -> None:
    rows = re.findall(r"^\| \*\*([\w -]+)\*\*", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 30
    assert [row.split()[0] for row in rows] == sorted(row.split()[0] for row in rows)
    for page in ("README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md"):
        assert "glossary.md" in (ROOT / page).read_text(encoding="utf-8")


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
