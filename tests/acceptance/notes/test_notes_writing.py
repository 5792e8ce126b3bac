"""The writing tools of `notes` over the real process: what they change, refuse, keep, and do not do twice."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from shell import Shell
from support import GitRepo, new_repo

GREEN = (
    "---\ntitle: Green tea # as printed\nstatus: open\n---\n# Green tea\n\n## Brewing\n\nWater of 80 degrees.\n\n"
    "## Log\n\n- first\n\n## Tasks\n\n- [ ] buy a pot\n\nA block. ^sum\n"
)
SECTION = {"do": "section", "section": "Tasks", "text": "None."}
PAGES: dict[str, str | bytes] = {
    "README.md": "# Notes\n\n- [green](drinks/green.md#log)\n- [[drinks/oolong|Oolong]]\n- [[Green tea]]\n",
    "drinks/green.md": GREEN,
    "drinks/oolong.md": "# Oolong\n\nLike [green](green.md), on [pots](../pots.md) ![](pot.png).\n",
    "drinks/pot.png": b"\x89PNG",
    "pots.md": "# Pots\r\n\r\nA kyusu.\r\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "tea", PAGES)


@contextmanager
def writer(repo: GitRepo, *more: str) -> Generator[Agent]:
    with agent("mcp", repo.path, "--tier", "write", "--no-embed", *(more or ("--commit", "auto"))) as connected:
        yield connected


def refused(client: Agent, tool: str, **arguments: object) -> str:
    with pytest.raises(RefusedError) as caught:
        client.text(tool, **arguments)
    return caught.value.text


def text_of(repo: GitRepo, path: str) -> str:
    return (repo.path / path).read_bytes().decode()


def test_several_changes_of_a_page_are_one_commit_and_change_nothing_else(repo: GitRepo) -> None:
    changes = [
        {"do": "append", "section": "Log", "text": "- second"},
        {"do": "fields", "fields": {"status": "done"}},
        {"do": "task", "task": "buy a pot"},
        {"do": "block", "block": "^sum", "text": "Another."},
        {"do": "replace", "old": "80 degrees", "text": "75 degrees"},
    ]
    with writer(repo) as client:
        answer = client.text("edit", page="Green tea", changes=changes, message="Tend the tea")
    assert answer.startswith("Edited drinks/green.md rev ")
    expected = GREEN.replace("- first\n", "- first\n- second\n").replace("status: open", "status: done")
    expected = expected.replace("- [ ] buy", "- [x] buy").replace("A block. ^sum", "Another. ^sum")
    assert text_of(repo, "drinks/green.md") == expected.replace("80 degrees", "75 degrees")
    assert repo.git("log", "--format=%s").splitlines()[0] == "Tend the tea"
    assert repo.git("status", "--short") == ""


def test_of_changes_of_which_one_fails_none_is_made(repo: GitRepo) -> None:
    changes = [
        {"do": "append", "section": "Log", "text": "- second"},
        {"do": "task", "task": "buy a pot"},
        {"do": "replace", "old": "90 degrees", "text": "75 degrees"},
    ]
    with writer(repo) as client:
        said = refused(client, "edit", page="Green tea", changes=changes)
    assert said.startswith("Change 3 of 3 (replace): The text does not occur")
    assert text_of(repo, "drinks/green.md") == GREEN


def test_a_transaction_edits_pages_that_its_earlier_steps_make_or_move(repo: GitRepo) -> None:
    steps = [
        {"do": "move", "page": "Green tea", "to": "drinks/sencha.md"},
        {"do": "edit", "page": "drinks/sencha#Log", "changes": [{"do": "append", "text": "- second"}]},
        {"do": "write", "page": "new.md", "text": "# New\n"},
        {"do": "edit", "page": "[[new.md]]", "changes": [{"do": "append", "text": "More."}]},
    ]
    with writer(repo) as client:
        client.text("transaction", steps=steps)
    assert "- first\n- second\n" in text_of(repo, "drinks/sencha.md")
    assert text_of(repo, "new.md") == "# New\n\nMore.\n"
    assert len(repo.git("log", "--format=%s").splitlines()) == 2


def test_a_transaction_deletes_what_its_earlier_steps_make_or_move(repo: GitRepo) -> None:
    move = {"do": "move", "page": "Oolong", "to": "wulong.md"}
    (repo.path / "drinks/oolong.md").write_text("# Oolong\n\nNever committed.\n")
    with writer(repo) as client:
        gone = {"do": "delete", "page": "wulong.md"}
        assert 'Next: read {"page": "drinks/oolong"}' in refused(client, "transaction", steps=[move, gone])
        client.text("read", page="Oolong")
        answer = client.text("transaction", steps=[move, gone])
        assert "Links to wulong.md now lead nowhere in README.md" in answer
        assert "No commit had the old text of drinks/oolong.md" in answer
        by_title = [{**move, "page": "Green tea"}, {"do": "edit", "page": "Green tea", "changes": [SECTION]}]
        (repo.path / "drinks/green.md").write_text(f"{GREEN}\nNever committed.\n")
        assert "No commit had the old text of drinks/green.md" in client.text("transaction", steps=by_title)
        made = [{"do": "write", "page": "new.md", "text": "# New\n"}, {"do": "delete", "page": "new.md"}]
        client.text("transaction", steps=made)
    assert not (repo.path / "new.md").exists()
    assert not (repo.path / "drinks/oolong.md").exists()
    assert "Never committed" not in text_of(repo, "wulong.md")


def test_a_failed_transaction_says_which_step_to_repeat_and_how(repo: GitRepo) -> None:
    with writer(repo) as client:
        steps = [
            {"do": "write", "page": "new.md", "text": "# New\n"},
            {"do": "edit", "page": "drinks/gren", "changes": [{"do": "append", "text": "x"}]},
        ]
        said = refused(client, "transaction", steps=steps)
        assert said.startswith("Step 2 of 2: There is no page 'drinks/gren'.")
        assert said.endswith('Next: read {"page": "drinks/green.md"}'), "never the same change of another page"
        steps[1] = {"do": "edit", "page": "drinks/green", "changes": [{**SECTION, "section": "Brewin"}]}
        assert 'Next: read {"page": "drinks/green", "section": "Brewing"}' in refused(
            client, "transaction", steps=steps
        )


def test_a_call_that_is_sent_again_answers_the_same_and_writes_nothing(repo: GitRepo) -> None:
    append = {"page": "pots", "changes": [{"do": "append", "text": "- one more"}]}
    with writer(repo) as client:
        calls: list[tuple[str, Mapping[str, object]]] = [
            ("edit", append),
            ("write", {"page": "new", "text": "# New\n"}),
            ("move", {"page": "new", "to": "other"}),
            ("transaction", {"steps": [{"do": "write", "page": "third", "text": "# Third\n"}]}),
        ]
        for tool, arguments in calls:
            first = client.text(tool, **arguments)
            head = repo.git("rev-parse", "HEAD")
            again = client.text(tool, **arguments)
            assert again.startswith("Made before, not again")
            assert again.endswith(first)
            assert repo.git("rev-parse", "HEAD") == head
        client.text("read", page="third")
        deleted = client.text("delete", page="third")
        assert client.text("delete", page="third").endswith(deleted)
        # With another request id the same text is meant once more.
        ids = [client.text("edit", **append, request_id=name) for name in ("a", "a", "b")]
    assert ids[0] == ids[1] != ids[2]
    assert text_of(repo, "pots.md").count("- one more") == 3
    with writer(repo) as client:  # a new process remembers nothing, and sees that the text is there
        assert "Unchanged" in client.text("edit", **append)
    assert text_of(repo, "pots.md").count("- one more") == 3
    assert text_of(repo, "pots.md").count("\r\n") == text_of(repo, "pots.md").count("\n")


def test_of_equal_tasks_the_same_call_ticks_one_after_the_other(repo: GitRepo) -> None:
    tick = {"page": "list", "changes": [{"do": "task", "task": "same"}]}
    with writer(repo) as client:
        client.text("write", page="list.md", text="- [ ] same\n- [ ] same\n- [ ] other\n")
        assert client.text("edit", **tick, request_id="a") == client.text("edit", **tick, request_id="a")
        assert text_of(repo, "list.md") == "- [x] same\n- [ ] same\n- [ ] other\n"
        client.text("edit", page="list", changes=[{"do": "task", "task": "same", "done": False}])
        answers = [client.text("edit", **tick) for _ in range(3)]
    assert text_of(repo, "list.md") == "- [x] same\n- [x] same\n- [ ] other\n"
    assert [answer.startswith("Edited") for answer in answers] == [True, True, False]


def test_an_edit_that_would_hide_headings_is_refused_and_names_them(repo: GitRepo) -> None:
    text = "# F\n\n```\nx\n```\n\n## Two\n\n```\ny\n```\n\n## Three\n"
    with writer(repo) as client:
        client.text("write", page="fences.md", text=text)
        for change in (
            {"do": "replace", "old": "x\n```\n", "text": "x\n"},
            {"do": "replace", "section": "F", "old": "x\n```\n", "text": "x\n"},
            {"do": "append", "section": "F", "text": "```\nopen"},
        ):
            said = refused(client, "edit", page="fences", changes=[change])
            assert "would hide 'Two'" in said
            assert "another. Close it" in said
    assert text_of(repo, "fences.md") == text


def test_the_same_text_is_meant_again_once_the_page_has_changed(repo: GitRepo) -> None:
    change = {"page": "pots", "changes": [{"do": "replace", "old": "kyusu", "text": "gaiwan"}]}
    back = {"page": "pots", "changes": [{"do": "replace", "old": "gaiwan", "text": "kyusu"}]}
    with writer(repo) as client:
        for arguments in (change, back, change):
            client.text("edit", **arguments)
    assert "gaiwan" in text_of(repo, "pots.md")


def test_a_page_is_replaced_whole_only_as_it_was_seen(repo: GitRepo) -> None:
    with writer(repo) as client:
        said = refused(client, "write", page="drinks/green", text="# Mine\n")
        assert "was not read whole in this session" in said
        assert 'Next: read {"page": "drinks/green"}' in said
        part = client.text("read", page="Green tea", section="Log")
        assert "unseen" in refused(
            client, "write", page="drinks/green", text="# Mine\n", revision=part.split("rev ")[1][:12]
        )
        assert text_of(repo, "drinks/green.md") == GREEN
        client.text("read", page="Green tea")
        (repo.path / "drinks/green.md").write_text(GREEN + "\nAn editor's line.\n")
        assert "An editor's line." in refused(client, "write", page="drinks/green", text="# Mine\n")
        client.text("read", page="Green tea")
        assert client.text("write", page="drinks/green", text="# Mine\n").startswith("Replaced drinks/green.md")
    assert text_of(repo, "drinks/green.md") == "# Mine\n"


def test_an_edit_that_names_no_section_replaces_only_a_body_that_was_seen(repo: GitRepo) -> None:
    whole = [{"do": "fields", "fields": {"status": "done"}}, {"do": "section", "text": "Mine."}]
    with writer(repo) as client:
        for arguments in ({"changes": whole}, {"changes": whole[1:]}):
            said = refused(client, "edit", page="Green tea", **arguments)
            assert "was not read whole in this session" in said
            assert "Current revision: " in said
        said = refused(client, "transaction", steps=[{"do": "edit", "page": "pots", "changes": whole[1:]}])
        assert 'Next: read {"page": "pots"}' in said
        said = refused(client, "edit", page="Green tea#^sum", changes=whole[1:])
        assert "'^sum' is a block" in said
        assert text_of(repo, "drinks/green.md") == GREEN
        client.text("read", page="Green tea")
        (repo.path / "drinks/green.md").write_text(GREEN + "\nAn editor's line.\n")
        assert "An editor's line." in refused(client, "edit", page="Green tea", changes=whole)
        client.text("read", page="Green tea")
        client.text("edit", page="Green tea", changes=whole)
    assert text_of(repo, "drinks/green.md").endswith("status: done\n---\nMine.\n")


def test_text_that_was_not_seen_is_kept_when_an_edit_takes_it_away(repo: GitRepo) -> None:
    (repo.path / "pots.md").write_text("# Pots\n\nNever committed.\n")
    with writer(repo, "--commit", "manual") as client:
        change = {"do": "section", "section": "Pots", "text": "Gone."}
        answer = client.text("edit", page="pots", changes=[change])
        assert "commonplace " not in answer
        kept = json.loads(answer.rpartition(": read ")[2].partition("}")[0] + "}")
        assert "Never committed." in client.text("read", **kept)
        said = refused(client, "restore", **kept)
        assert f"Next: read {json.dumps(kept)}" in said
        assert "--" not in said
        for tool, wrong in (("restore", {"page": "pots", "at": "abcdef0"}), ("restore", {"session": "0" * 16})):
            assert "commonplace " not in refused(client, tool, **wrong)


def test_a_page_moves_and_links_follow_and_moving_back_undoes_it(repo: GitRepo) -> None:
    with writer(repo) as client:
        would = client.text("move", page="Green tea", to="teas/sencha.md", dry_run=True)
        assert "Would move 1 file: drinks/green.md -> teas/sencha.md" in would
        assert "README.md" in would
        assert repo.git("status", "--short") == ""
        client.text("move", page="Green tea", to="teas/sencha.md")
        assert "(teas/sencha.md#log)" in text_of(repo, "README.md")
        assert "- [[Green tea]]" in text_of(repo, "README.md")
        assert "[green](../teas/sencha.md)" in text_of(repo, "drinks/oolong.md")
        client.text("move", page="teas/sencha", to="drinks/green")
    for path, content in PAGES.items():
        expected = content if isinstance(content, bytes) else content.encode()
        assert (repo.path / path).read_bytes() == expected


def test_a_folder_moves_with_its_files_and_links_and_back(repo: GitRepo) -> None:
    with writer(repo) as client:
        answer = client.text("move", page="drinks/", to="old/teas")
        assert answer.startswith(
            "Moved drinks/ -> old/teas/ (3 files, links rewritten in 1 of them); links follow in README.md"
        )
        assert text_of(repo, "README.md") == (
            "# Notes\n\n- [green](old/teas/green.md#log)\n- [[old/teas/oolong|Oolong]]\n- [[Green tea]]\n"
        )
        assert text_of(repo, "old/teas/oolong.md") == (
            "# Oolong\n\nLike [green](green.md), on [pots](../../pots.md) ![](pot.png).\n"
        )
        assert (repo.path / "old/teas/pot.png").read_bytes() == b"\x89PNG"
        assert not (repo.path / "drinks").exists()
        assert client.text("links", kind="wanted").startswith("Wanted pages (linked to, not there): 0")
        assert "lies in" in refused(client, "move", page="old/", to="old/teas/deeper")
        client.text("move", page="old/teas/", to="drinks/")
    for path, content in PAGES.items():
        expected = content if isinstance(content, bytes) else content.encode()
        assert (repo.path / path).read_bytes() == expected


def test_a_folder_with_an_index_page_moves_whole_if_its_path_ends_with_a_slash(repo: GitRepo) -> None:
    repo.commit("Index", **{"drinks/index.md": "# Drinks\n\n[Oolong](oolong.md)\n"})
    with writer(repo) as client:
        assert "Moved drinks/ -> old/teas/ (4 files, links" in client.text("move", page="drinks/", to="old/teas")
        assert not (repo.path / "drinks").exists()
        assert text_of(repo, "old/teas/index.md") == "# Drinks\n\n[Oolong](oolong.md)\n"
        client.text("move", page="Drinks", to="start.md")
    assert text_of(repo, "start.md") == "# Drinks\n\n[Oolong](old/teas/oolong.md)\n"


def test_a_move_keeps_lines_that_were_not_seen_and_whose_links_it_rewrites(repo: GitRepo) -> None:
    linking, moved = "# Pots\n\nFor [tea](drinks/OOLONG.md).\n", "# Oolong\n\nOn [pots](../pots.md), `new`.\n"
    (repo.path / "pots.md").write_text(linking.replace("OOLONG", "oolong"))
    (repo.path / "drinks/oolong.md").write_text(moved)
    with writer(repo) as client:
        answer = client.text("move", page="Oolong", to="wulong.md")
        for path in ("pots.md", "drinks/oolong.md"):
            assert f"No commit had the old text of {path}" in answer
        assert "README.md:" not in answer, "a commit has its old text"
        client.text("read", page="pots")
        (repo.path / "README.md").write_text("# Notes\n")
        again = client.text("move", page="pots", to="kettles.md")
    assert "old text of pots.md" not in again, "the session was shown it"
    stdout = Shell(repo.path).ok("restore", "--json").stdout
    assert {element["path"] for element in json.loads(stdout)["items"]} >= {"pots.md", "drinks/oolong.md"}


def test_a_transaction_is_one_commit_or_nothing(repo: GitRepo) -> None:
    good = [
        {"do": "write", "page": "decisions/pot.md", "text": "# A pot\n\nWe buy a kyusu.\n"},
        {"do": "edit", "page": "pots", "changes": [{"do": "append", "text": "See [[decisions/pot]]."}]},
        {"do": "move", "page": "Oolong", "to": "oolong.md"},
    ]
    bad = [*good, {"do": "edit", "page": "README", "changes": [{"do": "replace", "old": "nowhere", "text": "x"}]}]
    with writer(repo) as client:
        before = repo.git("rev-parse", "HEAD")
        assert refused(client, "transaction", steps=bad).startswith("Step 4 of 4: Change 1 of 1 (replace)")
        assert "Step 1 of 1: Invalid do 'tidy'" in refused(client, "transaction", steps=[{"do": "tidy"}])
        early = [good[1], {"do": "move", "page": "pots", "to": "kettles"}]
        assert "Move first" in refused(client, "transaction", steps=early)
        assert repo.git("rev-parse", "HEAD") == before
        assert repo.git("status", "--short") == ""
        client.text("transaction", steps=good, message="Decide on a pot")
    assert repo.git("log", "--format=%s", f"{before}..HEAD") == "Decide on a pot"
    assert "[green](drinks/green.md)" in text_of(repo, "oolong.md")
    assert text_of(repo, "pots.md").endswith("A kyusu.\r\n\r\nSee [[decisions/pot]].\r\n")


def test_a_deleted_page_is_named_with_what_links_to_it_and_comes_back(repo: GitRepo) -> None:
    with writer(repo) as client:
        assert "was not read whole" in refused(client, "delete", page="pots")
        client.text("read", page="pots")
        answer = client.text("delete", page="pots")
        assert "Links to pots.md now lead nowhere in drinks/oolong.md" in answer
        assert not (repo.path / "pots.md").exists()
        assert "pots.md deleted" in client.text("changes", deleted=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"page": "drinks/", "text": "x"}, "it has an empty part"),
        ({"page": "../out", "text": "x"}, "Invalid path"),
        ({"page": "README.MD", "text": "x"}, "in case or Unicode form alone"),
        ({"page": "pots.md/inner", "text": "x"}, "pots.md"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(repo: GitRepo, arguments: dict[str, object], said: str) -> None:
    with writer(repo) as client:
        assert said in refused(client, "write", **arguments)
    assert repo.git("status", "--short") == ""


def test_a_page_that_says_the_same_as_another_is_pointed_out(repo: GitRepo) -> None:
    text = "A kyusu is a Japanese teapot with a handle on its side, made of clay, that pours green tea without drops.\n"
    with writer(repo) as client:
        client.text("write", page="one", text=f"# Kyusu\n\n{text}")
        assert "'one' says nearly the same" in client.text("write", page="two", text=f"# Kyusu\n\n{text}")


COMPOST: dict[str, str | bytes] = {
    "a/Compost.md": "Of the garden.\n",
    "b/Router.md": "# Router\n",
    "c.md": "[[Compost]] and [[Ghost]]\n",
}


def test_a_move_onto_a_name_that_is_elsewhere_takes_no_links_over_and_moving_back_does_not_either(
    tmp_path: Path,
) -> None:
    garden = new_repo(tmp_path / "garden", COMPOST)
    with writer(garden) as client:
        would = client.text("move", page="b/Router", to="Compost.md", dry_run=True)
        assert "Links to another page of that name would get its path in 1 page: c.md" in would
        answer = client.text("move", page="b/Router", to="Compost.md")
        assert answer.startswith("Moved b/Router.md -> Compost.md rev ")
        assert "Links to another page of that name now give its path, in c.md" in answer
        assert text_of(garden, "c.md") == "[[a/Compost]] and [[Ghost]]\n"
        client.text("move", page="Compost.md", to="b/Router.md")
        assert text_of(garden, "c.md") == "[[a/Compost]] and [[Ghost]]\n"
        steps = [{"do": "move", "page": "c", "to": "d/c"}, {"do": "move", "page": "Router", "to": "/Compost"}]
        (garden.path / "c.md").write_text("[[Compost]]\n")
        client.text("transaction", steps=steps)
        assert text_of(garden, "d/c.md") == "[[a/Compost]]\n"


def test_a_write_says_which_links_lead_elsewhere_then(tmp_path: Path) -> None:
    garden = new_repo(tmp_path / "garden", COMPOST)
    with writer(garden) as client:
        answer = client.text("write", page="Compost.md", text="# Another\n")
        assert "Links to a/Compost.md now lead here in c.md" in answer
        assert "Links that led nowhere now lead here in c.md" in client.text("write", page="Ghost", text="# Boo\n")
        client.text("read", page="Compost.md")
        assert "Links to Compost.md now lead to a/Compost.md in c.md" in client.text("delete", page="Compost.md")
        changes = [{"do": "fields", "fields": {"aliases": ["Spectre"]}}]
        assert "Links" not in client.text("edit", page="Ghost", changes=changes)
        client.text("edit", page="c", changes=[{"do": "append", "text": "[[Spectre]]"}])
        changes = [{"do": "fields", "fields": {"aliases": None}}]
        assert "Links to Ghost.md now lead nowhere in c.md" in client.text("edit", page="Ghost", changes=changes)


def test_a_mere_name_makes_no_second_page_and_a_move_by_name_keeps_the_folder(tmp_path: Path) -> None:
    garden = new_repo(tmp_path / "garden", COMPOST)
    with writer(garden) as client:
        said = refused(client, "write", page="Compost", text="# Another\n")
        assert "There is a page of this name: a/Compost.md." in said
        assert "'Compost.md' for a new page at the top" in said
        assert 'Next: read {"page": "a/Compost.md"}' in said
        assert "'a' is a folder" in refused(client, "write", page="a", text="# A\n")
        assert "'a/'" in refused(client, "move", page="Router", to="a")
        assert client.text("move", page="Router", to="Switch").startswith("Moved b/Router.md -> b/Switch.md")
        assert client.text("move", page="Switch", to="/Switch").startswith("Moved b/Switch.md -> Switch.md")


@pytest.mark.parametrize("in_git", [True, False])
def test_a_page_that_no_commit_has_is_read_in_the_trash_and_written_again(in_git: bool, tmp_path: Path) -> None:
    text = "# New\n\n## Part\n\nOnly here.\n"
    folder = new_repo(tmp_path / "base", {"a.md": "# A\n"}).path if in_git else tmp_path
    (folder / "new.md").write_text(text)
    with agent("mcp", folder, "--tier", "write", "--no-embed") as client:
        client.text("read", page="new.md")
        answer = client.text("delete", page="new.md")
        revision = json.loads(answer.rpartition(": read ")[2].partition("}")[0] + "}")["at"]
        assert f'restore {{"page": "new.md", "at": "{revision[:12]}"}}' in client.text("changes", deleted=True)
        assert "AS IN THE TRASH" in client.text("read", page="new.md#Part", at=revision)
        found_text = client.text("read", page="new.md", at=revision)
        assert text.strip() in found_text
        assert "not as it is now" in found_text
        with pytest.raises(RefusedError):
            client.text("read", page="a.md" if in_git else "new.md", at="1234567")
        client.text("write", page="new.md", text=text)
    assert (folder / "new.md").read_text() == text
