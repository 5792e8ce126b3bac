"""Writing with the wiki toolset on the real process: on a folder, and on a server of the REST API."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_types import BlobResourceContents, EmbeddedResource

from agent import Agent, RefusedError
from support import GitRepo, eventually, new_repo
from wiki_base import PLACES, Site, Where, assistant, site

CONFLICT = (
    "Conflict: the page was modified since last read. Read the page again to get the current version, then retry."
)


@pytest.fixture(scope="module", params=PLACES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same for tests that write, each to notes of its own."""
    yield from site(request.param, tmp_path_factory.mktemp("used"))


def committed(wiki: Agent, repo: GitRepo, files: dict[str, str]) -> str:
    """A commit of somebody else's, once its pages are seen; its id."""
    head = repo.commit("Elsewhere", **files)
    pages = [file.removesuffix(".md") for file in files if file.endswith(".md")]
    eventually(lambda: not any(wiki.raw("get_links", path=page).is_error for page in pages))
    return head


def refused(client: Agent, tool: str, **arguments: object) -> str:
    with pytest.raises(RefusedError) as caught:
        client.text(tool, **arguments)
    assert caught.value.result.structured_content is None
    return caught.value.text


def test_notes_are_written_edited_renamed_and_deleted_one_commit_each(used: Site) -> None:
    wiki, repo = used
    before = int(repo.git("rev-list", "--count", "HEAD"))
    linking = {"Old/A.md": "A.\n", "Linking.md": "[[Old/A]]\n", "Also/Linking.md": "See [it](../Old/A.md).\n"}
    committed(wiki, repo, linking)

    def said(text: str) -> str:
        return text.replace(repo.git("rev-parse", "HEAD")[:8], "HEAD8")

    assert said(wiki.text("write_note", path="New/Thing", content="One [[Hub]].\n")) == (
        "Created New/Thing (revision: HEAD8)"
    )
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Create: New/Thing"
    updated = wiki.text("write_note", path="New/Thing", content="Two.\n", commit_message="Say two")
    assert said(updated) == "Updated New/Thing (revision: HEAD8)"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Say two"
    revision = repo.git("rev-parse", "HEAD")
    edited = wiki.text("edit_note", path="New/Thing", revision=revision[:7], old_string="Two", new_string="Three")
    assert said(edited) == "Edited New/Thing (revision: HEAD8)"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Edit: New/Thing"
    renamed = wiki.text("rename_note", path="Old/A", new_path="States/One")
    assert said(renamed) == (
        "Renamed Old/A -> States/One (revision: HEAD8)\nUpdated 2 backreferences:\n- Also/Linking\n- Linking"
    )
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Rename: Old/A -> States/One"
    assert (repo.path / "Linking.md").read_text() == "[[States/One]]\n"
    assert (repo.path / "Also" / "Linking.md").read_text() == "See [it](../States/One.md).\n"
    renamed = wiki.text("rename_note", path="New/Thing", new_path="New/Other")
    assert said(renamed) == "Renamed New/Thing -> New/Other (revision: HEAD8)\nNo backreferences needed updating."
    assert wiki.text("delete_note", path="New/Other") == "Deleted New/Other"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Delete: New/Other"
    assert repo.git("status", "--porcelain") == ""
    assert int(repo.git("rev-list", "--count", "HEAD")) == before + 7


def test_attachments_come_and_go(used: Site) -> None:
    wiki, repo = used
    content = bytes(range(256))
    encoded = base64.b64encode(content).decode()
    note = {"path": "Actors/Iran"}
    assert wiki.text("list_attachments", **note) == "0 attachments of Actors/Iran:"
    uploaded = wiki.text("upload_attachment", **note, filename="map 1.png", content=encoded)
    assert uploaded == "Uploaded map 1.png to Actors/Iran"
    assert (repo.path / "Actors" / "Iran" / "map 1.png").read_bytes() == content
    assert wiki.text("list_attachments", **note) == (
        "1 attachments of Actors/Iran:\n\n- map 1.png (image/png, 256 bytes)"
    )
    (block,) = wiki.raw("download_attachment", **note, filename="map 1.png").content
    assert isinstance(block, EmbeddedResource)
    assert isinstance(block.resource, BlobResourceContents)
    assert (block.resource.mime_type, block.resource.blob) == ("image/png", encoded)
    again = refused(wiki, "upload_attachment", **note, filename="map 1.png", content=encoded)
    assert again.startswith("There already is an attachment map 1.png of Actors/Iran.")
    assert wiki.text("delete_attachment", **note, filename="map 1.png") == "Deleted map 1.png from Actors/Iran"
    assert repo.git("status", "--porcelain") == ""
    for filename in ("../x.png", "a/b.png", ".git", ".hidden", "x.md", "a\nb", "a\\b"):
        said = refused(wiki, "upload_attachment", **note, filename=filename, content=encoded)
        assert said.startswith("Invalid request: "), said
    said = refused(wiki, "upload_attachment", **note, filename="a.png", content="no base64!")
    assert said == "Invalid request: Invalid content: it is no base64."
    assert refused(wiki, "download_attachment", **note, filename="no.png").startswith("Attachment not found: no.png")


def test_attachments_move_with_their_note(used: Site) -> None:
    wiki, repo = used
    pages = {
        "Move/Me.md": "![plan](Me/plan.png) and [[Move/Me/plan.png]]\n",
        "Sees it.md": "![plan](Move/Me/plan.png) ![[Move/Me/plan.png]] [[Move/Me]]\n",
        "Move/Me/Below.md": "![plan](plan.png)\n",
        "Move/Me/plan.png": "plan",
        "Taken/Me/plan.png": "other",
    }
    committed(wiki, repo, pages)
    taken = refused(wiki, "rename_note", path="Move/Me", new_path="Taken/Me")
    assert "Taken/Me/plan.png" in taken
    before = int(repo.git("rev-list", "--count", "HEAD"))
    said = wiki.text("rename_note", path="Move/Me", new_path="Gone/To")
    assert said.partition("\n")[2] == "Updated 2 backreferences:\n- Move/Me/Below\n- Sees it"
    assert wiki.text("list_attachments", path="Gone/To").endswith("- plan.png (image/png, 4 bytes)")
    assert "plan.png" not in wiki.text("list_notes"), "an attachment is no note wherever it lies"
    assert (repo.path / "Gone" / "To.md").read_text() == "![plan](To/plan.png) and [[Gone/To/plan.png]]\n"
    assert (repo.path / "Sees it.md").read_text() == "![plan](Gone/To/plan.png) ![[Gone/To/plan.png]] [[Gone/To]]\n"
    assert (repo.path / "Move" / "Me" / "Below.md").read_text() == "![plan](../../Gone/To/plan.png)\n"
    assert not (repo.path / "Move" / "Me" / "plan.png").exists()
    assert int(repo.git("rev-list", "--count", "HEAD")) == before + 1
    assert repo.git("status", "--porcelain") == ""


def test_errors_say_what_to_do(used: Site) -> None:
    wiki, repo = used
    begin = committed(wiki, repo, {"Actors/Iraq.md": "Begun.\n"})
    unknown = "Page not found: Actors/Irna. Use write_note to create it, or list_notes to see available pages."
    for tool in ("read_note", "get_links", "get_history", "delete_note", "list_attachments"):
        said = refused(wiki, tool, path="Actors/Irna")
        assert said.startswith(f"{unknown}\nDid you mean: Actors/Ira"), said
    said = refused(wiki, "read_note", path="Actors/Iraq", section="Nowhere")
    assert "has no section 'Nowhere'" in said
    assert "Revision not found: 1234567" in refused(wiki, "read_note", path="Actors/Iraq", revision="1234567")
    never_read = refused(wiki, "write_note", path="Actors/Iraq", content="x")
    assert never_read == f"{CONFLICT}\nCurrent revision: {begin}"
    wiki.text("read_note", path="Actors/Iraq")
    now = repo.commit("Elsewhere", **{"Actors/Iraq.md": "Changed here.\n"})
    wiki.text("list_notes")
    for stale in ({}, {"revision": begin}):
        said = refused(wiki, "write_note", path="Actors/Iraq", content="x", **stale)
        assert said.partition("\n")[0] == CONFLICT, said
    edit = {"path": "Actors/Iraq", "old_string": "Changed", "new_string": "Mine"}
    assert refused(wiki, "edit_note", revision=begin, **edit) == f"{CONFLICT}\nCurrent revision: {now}"
    for old, new in (("absent", "x"), ("e", "x"), ("Changed", "Changed"), ("", "x")):
        said = refused(wiki, "edit_note", path="Actors/Iraq", revision=now, old_string=old, new_string=new)
        assert said.startswith("Invalid request: "), said
    assert refused(wiki, "edit_note", revision="--output=x", **edit).startswith("Invalid request: Invalid revision")
    said = refused(wiki, "list_notes", updated_since="last week")
    assert said.startswith("Invalid request: Invalid updated_since 'last week'")
    for tool, wrong in (
        ("read_note", {}),
        ("read_note", {"path": 5}),
        ("list_notes", {"limit": "5"}),
        ("search_notes", {"query": "x", "limit": 101}),
        ("semantic_search", {"query": "x", "n": 51}),
        ("get_recent_changes", {"limit": 0}),
        ("search_notes", {"query": "  "}),
    ):
        assert refused(wiki, tool, **wrong).startswith("Invalid request: "), (tool, wrong)
    said = refused(wiki, "semantic_search", query="anything")
    assert said == ("Semantic search is not set up on this server. Use search_notes instead: it searches by keywords.")
    assert repo.git("rev-parse", "HEAD") == now
    assert repo.git("status", "--porcelain") == ""


NAMES = (
    "Lang/C#",
    "Why is it?",
    "A%2FB",
    "Wait... what",
    "Acme Inc.",
    "notes/history",
    "history",
    "x/attachments/y",
    "日" * 80,
    "A&B=1+2",
)


@pytest.mark.soak
def test_odd_names_are_names_like_others(used: Site) -> None:
    wiki, repo = used
    neighbours = {"Lang/C.md": "c\n", "A/B.md": "ab\n", "notes.md": "n\n", "Why is it.md": "w\n", "x.md": "x\n"}
    committed(wiki, repo, neighbours)
    for name in NAMES:
        assert wiki.text("write_note", path=name, content=f"Body of {name}\n").startswith(f"Created {name} (")
        assert wiki.text("read_note", path=name).endswith(f"---\nBody of {name}\n")
        assert wiki.text("get_links", path=name).startswith(f"Links for {name}:")
        assert wiki.text("get_history", path=name).startswith(f"History for {name} (1 revisions):")
        moved = wiki.text("rename_note", path=name, new_path=f"moved/{name}")
        assert moved.startswith(f"Renamed {name} -> moved/{name} (")
        assert wiki.text("delete_note", path=f"moved/{name}") == f"Deleted moved/{name}"
    for path, content in neighbours.items():
        assert (repo.path / path).read_text() == content
    said = refused(wiki, "write_note", path="日" * 90, content="x")
    assert said.startswith("Invalid request: ")
    assert "a part is longer than 255 bytes" in said
    assert repo.git("status", "--porcelain") == ""


def test_a_path_that_differs_only_in_case_from_two_notes_means_neither(used: Site) -> None:
    wiki, repo = used
    committed(wiki, repo, {"Twins/one.md": "lower\n", "Twins/One.md": "upper\n", "Twins/Two.md": "two\n"})
    assert wiki.text("read_note", path="twins/TWO").endswith("---\ntwo\n")
    assert wiki.text("read_note", path="Twins/one").endswith("---\nlower\n")
    first, near = refused(wiki, "read_note", path="twins/ONE").split("\nDid you mean: ")
    assert first == "Page not found: twins/ONE. Use write_note to create it, or list_notes to see available pages."
    assert {"Twins/One", "Twins/one"} <= set(near.split(", "))
    refused(wiki, "delete_note", path="TWINS/one")
    refused(wiki, "write_note", path="twins/ONE", content="third\n")
    assert repo.git("status", "--porcelain") == ""


def test_uncommitted_bytes_have_a_revision_of_their_own(used: Site) -> None:
    wiki, repo = used
    committed(wiki, repo, {"Another.md": "Committed.\n"})
    repo.write("Another.md", "Not committed.\n")
    blob = repo.git("hash-object", "Another.md")
    begin = repo.git("rev-parse", "HEAD")
    wiki.text("list_notes")
    assert f"\nRevision: {blob}\n" in wiki.text("read_note", path="Another")
    refused(wiki, "edit_note", path="Another", revision=begin, old_string="Not", new_string="Now")
    wiki.text("edit_note", path="Another", revision=blob[:9], old_string="Not", new_string="Now")
    head = repo.git("rev-parse", "HEAD")
    assert f"\nRevision: {head}\n" in wiki.text("read_note", path="Another")
    assert wiki.text("read_note", path="Another", revision=begin[:7]).endswith("---\nCommitted.\n")


def test_a_rename_onto_a_name_that_is_elsewhere_takes_no_links_over(used: Site) -> None:
    wiki = used[0]
    for path, content in {"Garden/Compost": "# Heap\n", "It/Router": "# R\n", "Refers": "[[Compost]]\n"}.items():
        wiki.text("write_note", path=path, content=content)
    said = wiki.text("rename_note", path="It/Router", new_path="Compost")
    assert "Updated 1 backreferences:\n- Refers" in said
    assert "[[Garden/Compost]]" in wiki.text("read_note", path="Refers")


def test_a_link_that_an_editor_saved_a_moment_ago_follows_a_rename(used: Site) -> None:
    wiki, repo = used
    committed(wiki, repo, {"Moving.md": "Moving.\n", "Fresh.md": "Fresh.\n"})
    repo.write("Fresh.md", "Fresh [[Moving]].\n")
    repo.write("Fresher.md", "[it](Moving.md)\n")
    wiki.text("rename_note", path="Moving", new_path="Moved")
    assert (repo.path / "Fresh.md").read_text() == "Fresh [[Moved]].\n"
    assert (repo.path / "Fresher.md").read_text() == "[it](Moved.md)\n"


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.sampled(4)
def test_the_page_of_a_piped_link_stands_where_the_wiki_says(where: Where, tmp_path: Path) -> None:
    notes = {
        "A.md": "---\nsee: '[[A page|B]]'\n---\n[[the other|B]] [[B]]\n\n| t |\n|---|\n| [[x\\|B#part]] |\n",
        "B.md": "![[A|30]] [[ünî|A]]\n",
    }
    repo = new_repo(tmp_path / "wiki", notes)
    with assistant(where, repo.path, WIKILINK_STYLE="TITLELINK") as wiki:
        assert wiki.text("get_links", path="A").startswith("Links for A:\n\nLinks to (1):\n  - B\n")
        wiki.text("rename_note", path="B", new_path="C/D")
        wiki.text("rename_note", path="A", new_path="E")
    assert repo.git("show", "HEAD:E.md") == notes["A.md"].replace("B", "D").rstrip("\n")
    assert repo.git("show", "HEAD:C/D.md") == "![[E|30]] [[ünî|E]]"


def test_a_rename_shows_nothing_that_was_not_shown_before(used: Site) -> None:
    wiki, repo = used
    committed(wiki, repo, {"Shown.md": "# P\n", "Stale.md": "# Q\n"})
    wiki.text("read_note", path="Shown")
    wiki.text("read_note", path="Stale")
    committed(wiki, repo, {"Stale.md": "# Q\n\nSince.\n"})
    wiki.text("rename_note", path="Shown", new_path="Shown 2")
    wiki.text("rename_note", path="Stale", new_path="Stale 2")
    assert wiki.text("write_note", path="Shown 2", content="new\n").startswith("Updated Shown 2")
    assert refused(wiki, "write_note", path="Stale 2", content="new\n").startswith(CONFLICT)
    assert (repo.path / "Stale 2.md").read_text() == "# Q\n\nSince.\n"
