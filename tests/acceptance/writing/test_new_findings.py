"""A write says what it newly causes: broken front matter, lost block ids and headings, links that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from agent import agent
from layers import write_cascade, write_layer
from serving import served
from shell import Shell
from support import new_repo

PAGES = {
    "n.md": "---\ntitle: Q3 Planning\n---\n# Notes\n\n## Part\n\nText ^b1\n\n[[gone already]]\n",
    "linking.md": "[[Q3 Planning]] [[n#^b1]] [[n#Part]]\n",
}


def test_an_edit_that_makes_front_matter_invalid_says_so(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", dict(PAGES))
    title = {"do": "replace", "old": "title: Q3 Planning", "text": "title: Q3: Planning"}
    with agent("mcp", repo.path, "--toolset", "notes", "--tier", "write") as notes:
        reported_text = notes.text("edit", page="n", changes=[title])
        assert "Error in n.md:2: The front matter is not valid YAML" in reported_text
        assert "Warning in linking.md: The link to 'Q3 Planning' leads nowhere. [broken_link]" in reported_text
        assert "gone already" not in reported_text
        mended = {"do": "replace", "old": "title: Q3: Planning", "text": "title: Q3 Planning"}
        assert "in n.md" not in notes.text("edit", page="n", changes=[mended])
        text = notes.text("edit", page="n", changes=[{"do": "replace", "old": " ^b1", "text": ""}])
        assert "Warning in linking.md: n.md has no heading or block '^b1'. Name one that it has. [dead_anchor]" in text
        text = notes.text("edit", page="linking", changes=[{"do": "supersede", "by": "gone.md"}])
        assert "Warning in linking.md: It is superseded by 'gone.md', which is not there." in text


def test_a_rename_that_is_refused_names_the_page_and_line_of_the_link(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", {"p.md": "x\n", "deep/c.md": "---\nup: see [[p]]\n---\n"})
    done = Shell(repo.path)("mv", "p", "Plan, new")
    assert done.code == 4
    assert "deep/c.md, line 2: The new path Plan, new cannot be written" in done.stderr


def test_an_edit_names_the_pages_that_quote_what_it_took_out(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    pages = {
        "rules/pay.md": "# Pay\n\n## Berth\n\nThe berth costs 45 euro per night.\n\n## Card\n\nIt is taken at noon.\n",
        "a.md": '# A\n\nText.[^1]\n\n[^1]: [Pay](rules/pay.md#berth): "The **berth** costs 45 euro per night."\n',
        "b.md": "---\nsources:\n  - path: rules/pay.md\n    quote: The berth costs 45 euro\n---\n# B\n",
        "c.md": '# C\n\nText.[^1]\n\n[^1]: rules/pay.md: "berth costs 45 euro"\n',
        "d.md": '# D\n\nText.[^1]\n\n[^1]: [Pay](rules/pay.md): "It is taken at noon."\n',
        "e.md": '# E\n\nText.[^1]\n\n[^1]: [Pay](rules/pay.md): "It was never there."\n',
    }
    repo = new_repo(tmp_path / "base", pages)
    with agent("mcp", repo.path, "--toolset", "notes", "--tier", "write") as notes:
        change = {"do": "replace", "old": "45 euro", "text": "52 euro"}
        text = notes.text("edit", page="rules/pay", changes=[change])
        assert 'Warning in a.md:5: The quotation "The **berth** costs 45 euro per night." is not in ' in text
        assert rules(text) == {(f"{name}.md", "quotation_missing") for name in "abc"}
        assert not rules(
            notes.text("edit", page="rules/pay", changes=[{**change, "old": "52 euro", "text": "45 euro"}])
        )


def test_every_command_takes_a_page_by_its_unique_title(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", {"br.md": "---\ntitle: Block Reference\n---\nText.\n", "o.md": "[[br]]\n"})
    shell, title = Shell(repo.path), "Block Reference"
    for command in (["read", title], ["links", title], ["log", title], ["write", title, "--replace", "Text", "More"]):
        shell.ok(*command)
    shell.ok("mv", title, "deep/new")
    assert (repo.path / "deep/new.md").read_text().endswith("More.\n")
    assert "[[new]]" in (repo.path / "o.md").read_text()
    shell.ok("rm", title, "--force")
    assert not (repo.path / "deep/new.md").exists()


TEXTS = {
    "front matter that is not YAML": ("title: Q3 Planning", "title: Q3: Planning", ("n.md", "bad_yaml")),
    "a link that leads nowhere": ("## Part", "## Part\n\n[[no]]", ("n.md", "broken_link")),
    "a heading that another page names": ("## Part", "## Other", ("linking.md", "dead_anchor")),
    "a block that another page names": ("Text ^b1", "Text", ("linking.md", "dead_anchor")),
}
"""For each fault a text of the page, what replaces it, and the page and rule of the finding."""
Found = set[tuple[str, str]]


def rules(answer: Any) -> Found:
    """Pages and rules of the new findings in an answer, which is JSON or text."""
    if isinstance(answer, str):
        return set(re.findall(r"(?m)^(?:Error|Warning) in ([^:]+).*\[(\w+)\]$", answer))
    return {(finding["path"], finding["rule"]) for finding in answer.get("findings", ())}


def _notes_edit(base: Path, old: str, new: str) -> Any:
    with agent("mcp", base, "--toolset", "notes", "--tier", "write") as client:
        return client.text("edit", page="n", changes=[{"do": "replace", "old": old, "text": new}])


def _kb_update(base: Path, old: str, new: str) -> Any:
    with agent("mcp", base, "--toolset", "kb", "--tier", "write") as client:
        shown = client.call("kb_get", entry_id="n")["entry"]
        body = shown["body"].replace(old, new)
        return client.call("kb_update", kb_name="base", entry_id="n", body=body, revision=shown["revision"])


def _write_note(base: Path, old: str, new: str) -> Any:
    with agent("mcp", base, "--toolset", "wiki") as client:
        client.text("read_note", path="n")
        return client.text("write_note", path="n", content=PAGES["n.md"].replace(old, new))


def _edit_note(base: Path, old: str, new: str) -> Any:
    with agent("mcp", base, "--toolset", "wiki") as client:
        revision = re.findall(r"Revision: (\w+)", client.text("read_note", path="n"))[0]
        return client.text("edit_note", path="n", revision=revision, old_string=old, new_string=new)


def _rest_put(base: Path, old: str, new: str) -> Any:
    with served(str(base)) as server:
        body = {"content": PAGES["n.md"].replace(old, new), "revision": server.page("GET", "n").json["revision"]}
        return server.page("PUT", "n", body).json


def _rest_patch(base: Path, old: str, new: str) -> Any:
    with served(str(base)) as server:
        revision = server.page("GET", "n").json["revision"]
        return server.page("PATCH", "n", {"revision": revision, "old_string": old, "new_string": new}).json


def _remote_wiki(base: Path, old: str, new: str) -> Any:
    with served(str(base)) as server:
        env = {"OTTERWIKI_API_URL": server.url}
        with agent("mcp", "--toolset", "wiki", env=env) as client:
            client.text("read_note", path="n")
            return client.text("write_note", path="n", content=PAGES["n.md"].replace(old, new))


def _command(base: Path, old: str, new: str) -> Any:
    return Shell(base).ok("write", "n", "--replace", old, new, "--json").json


def _command_text(base: Path, old: str, new: str) -> Any:
    return Shell(base).ok("write", "n", "--replace", old, new).text


def _restore(base: Path, old: str, new: str) -> Any:
    shell = Shell(base)
    faulty = shell.ok("write", "n", "--replace", old, new, "--json").json["commit"]
    shell.ok("write", "n", "--replace", new, old)
    return shell.ok("restore", "n", "--at", faulty, "--json").json


EDITS = (
    _notes_edit, _kb_update, _write_note, _edit_note, _rest_put, _rest_patch, _remote_wiki, _command, _command_text,
    _restore,
)  # fmt: skip


CASES = [(EDITS[0], fault) for fault in TEXTS] + list(zip(EDITS[1:], cycle(reversed(TEXTS)), strict=False))
"""Every fault by one face, and one fault by every other: what is new is found by one function for all."""


@pytest.mark.parametrize(("write", "fault"), CASES)
@pytest.mark.sampled(4)
def test_every_face_that_edits_returns_the_new_findings(
    write: Callable[[Path, str, str], Any], fault: str, tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    old, new, finding = TEXTS[fault]
    answer = write(new_repo(tmp_path / "base", dict(PAGES)).path, old, new)
    assert finding in rules(answer)
    assert ("n.md", "broken_link") not in rules(answer) - {finding}, "it was there before"


def _kb_delete(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "kb", "--tier", "write") as client:
        revision = client.call("kb_get", entry_id="n")["entry"]["revision"]
        return client.call("kb_delete", kb_name="base", entry_id="n", revision=revision)


def _notes_delete(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "notes", "--tier", "write") as client:
        client.text("read", page="n")
        return client.text("delete", page="n")


def _delete_note(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "wiki") as client:
        return client.text("delete_note", path="n")


def _rest_delete(base: Path) -> Any:
    with served(str(base)) as server:
        return server.page("DELETE", "n").json


def _command_rm(base: Path) -> Any:
    return Shell(base).ok("rm", "n", "--force", "--json").json


@pytest.mark.parametrize("delete", [_kb_delete, _notes_delete, _delete_note, _rest_delete, _command_rm])
def test_every_face_that_deletes_names_the_links_that_lead_nowhere_now(
    delete: Callable[[Path], Any], tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    assert ("linking.md", "broken_link") in rules(delete(new_repo(tmp_path / "base", dict(PAGES)).path))


def _kb_create(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "kb", "--tier", "write") as client:
        return client.call("kb_create", kb_name="base", entry_type="note", title="New", body="[[no]]\n")


def _kb_bulk_create(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "kb", "--tier", "write") as client:
        entries = [{"entry_type": "note", "title": "New", "body": "[[no]] [[second]]\n"}]
        entries.append({"entry_type": "note", "title": "Second", "body": "[[new]]\n"})
        return client.call("kb_bulk_create", kb_name="base", entries=entries)


def _kb_link(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "kb", "--tier", "write") as client:
        link = {"source_id": "new", "source_kb": "base", "target_id": "no", "relation": "supports"}
        client.call("kb_create", kb_name="base", entry_type="note", title="New", body="Text.\n")
        return client.call("kb_link", **link, allow_dangling=True)


def _new_note(base: Path) -> Any:
    with agent("mcp", base, "--toolset", "wiki") as client:
        return client.text("write_note", path="new", content="[[no]]\n")


def _new(base: Path) -> Any:
    (base / "templates").mkdir()
    (base / "templates/t.md").write_text("[[no]]\n")
    return Shell(base).ok("new", "new", "-t", "t", "--json").json


@pytest.mark.parametrize("create", [_kb_create, _kb_bulk_create, _kb_link, _new_note, _new])
def test_every_face_that_creates_returns_the_new_findings(
    create: Callable[[Path], Any], tmp_path: Path, cache_dir: Path
) -> None:
    assert cache_dir.is_dir()
    answer = create(new_repo(tmp_path / "base", dict(PAGES)).path)
    assert [(path.rpartition("/")[2], rule) for path, rule in rules(answer)] == [("new.md", "broken_link")]


def test_a_capture_returns_its_findings(tmp_path: Path) -> None:
    write_layer(tmp_path / "live", {"notes.md": "# Notes\n"})
    path = write_cascade(
        tmp_path, {"own": (2, {"a.md": "# A\n"})}, {"name": "live", "level": 1, "path": "live", "live": True}
    )
    with agent("mcp", "--manifest", path, "--tier", "write") as client:
        staged = client.call(
            "log_capture", kind="gotcha", title="Odd", sections={"body": "See [x](gone.md) and [a](a.md), [[a]]."}
        )
        answer = client.call("confirm_capture", token=staged["token"])
    assert rules(answer) == {("captures/gotcha/odd.md", "broken_link")}


def test_documents_of_a_project_return_the_findings_of_their_own_text(tmp_path: Path) -> None:
    home = tmp_path / "store"
    with agent("mcp", home, "--toolset", "projects", env={"KNOWLEDGE_MCP_HOME": str(home)}) as client:
        saved = client.call("update_project_main", project_id="app", content="# App\n\n```\ncode\n")
        assert [finding["rule"] for finding in saved["findings"]] == ["unclosed_block"]
        again = client.call("update_project_main", project_id="app", content="# App\n\nMore.\n\n```\ncode\n")
        assert "findings" not in again, "it is not new"


def test_a_rename_says_what_it_newly_causes(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "base", dict(PAGES))
    done = Shell(repo.path).ok("mv", "n", "what: now.md", "--json").json
    assert rules(done) == {("what: now.md", "unportable_name")}
