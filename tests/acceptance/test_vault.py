"""A vault of 1,000 notes as Obsidian has them: every link leads where it was written to lead; nothing of it changes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, ListQuery
from indexed import Indexed
from shell import Shell
from vaults.writer import Note, Vault

NOTES = 1_000


@pytest.fixture(scope="module")
def vault() -> Vault:
    return Vault(seed=20, notes=NOTES)


@pytest.fixture(scope="module")
def base(vault: Vault, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    place = tmp_path_factory.mktemp("vault")
    (place / "base").mkdir()
    vault.write(place / "base")
    with Indexed(place) as indexed:
        yield indexed


def test_every_link_leads_where_it_was_written_to_lead(vault: Vault, base: Indexed) -> None:
    wrong: list[str] = []
    links = 0
    for note in vault.notes:
        resolved_links = list(base.index.links_from(Address(note.path)))
        assert len(resolved_links) == len(note.links), (note.path, [link.link.raw for link in resolved_links])
        for written, link in zip(note.links, resolved_links, strict=True):
            links += 1
            leads = link.target.path if link.target else None
            if leads != written.means:
                wrong.append(f"{note.path}: {written.text.strip()} leads to {leads}, not {written.means}")
    assert len(vault.notes) >= NOTES * 0.97
    assert links > 4 * NOTES
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.soak
def test_what_is_broken_is_what_was_written_so_over_the_real_command(vault: Vault, base: Indexed) -> None:
    before = subprocess.run(
        ["find", ".", "-type", "f", "-newer", "."], cwd=base.folder, capture_output=True, check=True
    )
    shell = Shell(base.folder)
    broken = shell.ok("links", "--broken", "--json").json["broken"]
    meant = sorted(note.path for note in vault.notes for link in note.links if link.means is None)
    assert sorted(element["path"] for element in broken) == meant
    assert all(element["target"].startswith("no such note ") for element in broken)
    note = next(note for note in vault.notes if note.aliases and note.language == "ja")
    assert shell.ok("read", f"{note.path}#^block-1").text == f"A block of {note.name}. ^block-1\n"
    assert shell.ok("read", f"{note.name}#質問" if _is_only(vault, note) else f"{note.path}#質問").text.startswith(
        "### 質問"
    )
    after = subprocess.run(["find", ".", "-type", "f", "-newer", "."], cwd=base.folder, capture_output=True, check=True)
    assert before.stdout == after.stdout, "nothing was written into the vault"


def _is_only(vault: Vault, note: Note) -> bool:
    return sum(other.name.casefold() == note.name.casefold() for other in vault.notes) == 1


def test_tags_nest_and_nothing_hidden_is_served(vault: Vault, base: Indexed) -> None:
    tags = dict(base.index.tags(Filter()))
    assert {"area/sea", "area/sea/deep", "状態/下書き", "größe", "kind/note"} <= tags.keys()
    assert "no/tag" not in tags
    below = base.index.list(ListQuery(filter=Filter(tags=("area",)))).total
    assert below >= max(tags["area/sea"], tags["area/sea/deep"])
    assert base.index.counts().documents == len(vault.notes)
    assert base.index.find("Template") is None


def test_an_attachment_that_comes_and_goes_is_seen(base: Indexed) -> None:
    base.write("zz/embeds.md", "![[späte Karte.png]] and ![[chart.png]]\n")
    base.index.sync()

    def leads() -> list[str | None]:
        return [link.target.path if link.target else None for link in base.index.links_from(Address("zz/embeds.md"))]

    assert leads() == [None, "chart.png"]
    picture = base.write("files/2025/späte Karte.png", "picture")
    assert len(base.index.broken(Address("zz/embeds.md"))) == 1, "not told yet"
    base.index.sync()
    assert base.index.broken(Address("zz/embeds.md")) == []
    (base.folder / picture.path).unlink()
