"""Ids that try to lead out of the layers, and sections of five megabytes that are made to be slow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from commonplace.bootstrap import Application
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.settings import default_settings
from commonplace.toolsets.cascade.rules.concepts import concept_id, read_concept
from commonplace.toolsets.cascade.rules.output import resolved_json
from commonplace.toolsets.cascade.rules.values import Contribution, LayerRank, resolve
from commonplace.toolsets.cascade.service import CASCADE_KEY
from commonplace.toolsets.cascade.service.cascade import Cascade
from layers import write_cascade
from support import Amount

CANARY = "outside of every layer"
PIECES = (
    "..", ".", "/", "\\", "//", "%2e%2e", "%2f", "a", "secret", "own", "out", "~", "~root", "C:", "\\\\?\\",
    "/etc/passwd", ".git", ".GIT", "git~1", "secret.md", ".md", "#", "?", "*", "node_modules", "file://", "index",
    "log", "NUL", "link", "\0", "\n", " ", "\u2026", "\uff0e\uff0e", "\u202e", "\ud800", "e\u0301", "x" * 300,
)  # fmt: skip
"""Parts from which the ids are made."""
SIZE = 5_000_000
SLOW = (
    "#", "# a\n", "######\n", "[[", "[[a]]", "](", "[a](", "```\n", "~~~ x\n", "- ```\n", "> ", "{#a ", "## {#a}\n",
    "<!--", "*", "_a_", "|", "\\", "\u00e9", "\n", " \n", "---\n", "a: b\n", "1. ",
)  # fmt: skip
"""Parts whose repetition may be slow to read."""


@pytest.fixture(scope="module")
def cascade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cascade]:
    folder = tmp_path_factory.mktemp("hostile")
    manifest = write_cascade(folder, {"own": (1, {"a.md": "# A\nmine\n", "own/a.md": "x"})})
    (folder / "secret.md").write_text(f"# Secret\n{CANARY}\n")
    (folder / "own" / "link.md").symlink_to(folder / "secret.md")
    (folder / "own" / "out").symlink_to(folder)
    settings = replace(default_settings(), manifest=manifest, cache_dir=folder / "cache", state_dir=folder / "state")
    application = Application((), settings)
    application.sync()
    cascade = application.services.of(CASCADE_KEY)
    assert cascade is not None
    yield cascade
    application.close()


def test_no_id_leads_out_of_the_layers(cascade: Cascade, amount: Amount) -> None:
    chance = random.Random(5)
    refused = missing = found_number = 0
    for _ in range(amount(3_000, 200_000)):
        written = "".join(chance.choices(PIECES, k=chance.randrange(1, 7)))
        try:
            shown = resolved_json(cascade.resolve(concept_id(written)))
        except InvalidInputError:
            refused += 1
        except NotFoundError:
            missing += 1
        else:
            found_number += 1
            assert CANARY not in str(shown)
            assert shown["id"] in {"a", "own/a"}
    assert min(refused, missing, found_number) > 0
    assert set(cascade.overview().rows) == {"a", "own/a"}


@pytest.mark.parametrize("piece", SLOW)
def test_a_section_of_five_megabytes_is_read_in_good_time_and_kept_whole(piece: str, amount: Amount) -> None:
    text = piece * (amount(SIZE // 200, SIZE) // len(piece.encode()))
    concept = read_concept("a", f"# Top\n{text}\n\n## End\nend\n".encode())
    resolved = resolve(
        "a", [Contribution(LayerRank("one", 1, 0), concept), Contribution(LayerRank("two", 0, 1), concept)]
    )
    assert not any(section.conflicts for section in resolved.sections)
    shown = resolved_json(resolved)
    stripped = "".join(str(shown["markdown"]).split())
    assert stripped.count("".join(piece.split())) >= min(1, len(piece.split())) * text.count(piece) // 2
    again = read_concept("a", str(shown["markdown"]).encode())
    assert [section.key for section in again.sections] == [section.key for section in concept.sections]
