"""No word of one search engine stands above the package of the engines, but where users of `cn` already know it."""

from __future__ import annotations

from support import ROOT

PACKAGE = ROOT / "src" / "commonplace"
HOME = PACKAGE / "toolsets" / "pages" / "engines"
COMMAND = PACKAGE / "toolsets" / "pages" / "cli"
"""Package of the command, whose options and answers contain the server's name."""
VARIABLES = ("MEILI_URL", "MEILI_API_KEY")
"""Environment variables with which users name their server."""


def test_nothing_but_the_engines_speaks_of_one_of_them() -> None:
    said = {
        file.relative_to(PACKAGE).as_posix(): _bare(file.read_text(encoding="utf-8"))
        for file in PACKAGE.rglob("*.py")
        if not file.is_relative_to(HOME) and not file.is_relative_to(COMMAND)
    }
    assert len(said) > 200
    assert [name for name, text in said.items() if "meili" in text] == []


def test_the_command_knows_the_name_alone() -> None:
    words = "indexuid taskuid primarykey swap-indexes hitsperpage facet masterkey master-key 7700"
    for file in COMMAND.rglob("*.py"):
        text = file.read_text(encoding="utf-8").lower()
        assert [word for word in words.split() if word in text] == [], file.name


def _bare(text: str) -> str:
    for variable in VARIABLES:
        text = text.replace(variable, "")
    return text.lower()
