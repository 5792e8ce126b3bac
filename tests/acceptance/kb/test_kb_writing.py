"""Every writing and administering tool of the `kb` contract, over the real process, in a real repository."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent import Agent, agent
from commonplace.main import main
from remotes import canary
from support import ROOT, GitRepo, new_repo

RESTORE = "runbooks/restore-database"
BASES = 8
"""Copies of the example base that one server serves; what a test does to its own is not seen by the others."""


@dataclass(frozen=True, slots=True)
class Shop:
    """One server at tier admin whose writes are files until they are committed, and what it serves."""

    agent: Agent
    bases: list[Path]
    """Copies of the example base, named `harbour`, `harbour-2` and so on; taken from the end."""
    repos: dict[str, GitRepo]
    """Repositories by the name of the base in them."""


@dataclass(frozen=True, slots=True)
class Base:
    """A copy of the example base that nobody else has touched."""

    name: str
    path: Path


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    bases = [folder / str(number) / "harbour" for number in range(BASES)]
    for base in bases:
        shutil.copytree(ROOT / "examples" / "kb", base)
    repos = {name: new_repo(folder / name, {"a.md": "# A\n"}) for name in ("plain", "pushed", "hostile")}
    repos["part"] = new_repo(folder / "big", {"part/a.md": "# A\n", "src/code.py": "1\n"})
    served = [*bases, *(repos[name].path for name in ("plain", "pushed", "hostile")), repos["part"].path / "part"]
    with agent("mcp", "--toolset", "kb", *served, "--tier", "admin") as connected:
        yield Shop(connected, bases, repos)


@pytest.fixture
def writer(shop: Shop) -> Agent:
    return shop.agent


@pytest.fixture
def base(shop: Shop) -> Path:
    """The copy that all tests share which only add to it."""
    return shop.bases[0]


@pytest.fixture
def own(shop: Shop) -> Base:
    """A copy for one test alone."""
    name = f"harbour-{len(shop.bases)}"
    return Base(name, shop.bases.pop())


@pytest.fixture(scope="module")
def committing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, dict[str, GitRepo]]]:
    """One server at tier write that commits each write, and its repositories by the name of the base in them."""
    folder = tmp_path_factory.mktemp("committing")
    repos = {name: new_repo(folder / name, {"a.md": "# A\n"}) for name in ("each", "sound")}
    repos["part"] = new_repo(folder / "big", {"part/a.md": "# A\n", "src/code.py": "1\n"})
    served = [repos["each"].path, repos["sound"].path, repos["part"].path / "part"]
    with agent("mcp", "--toolset", "kb", *served, "--tier", "write", "--commit", "auto") as connected:
        yield connected, repos


def test_a_created_entry_keeps_every_field_and_is_found_at_once(writer: Agent, base: Path) -> None:
    made = writer.call(
        "kb_create",
        kb_name="harbour",
        entry_type="runbook",
        title="Rotate the signing keys",
        body="First, quixotically, look around.\n",
        date="2026-03-01",
        importance=7,
        tags=["security", "keys/rotation"],
        participants=["on-call"],
        role="lead",
        metadata={"severity": "high", "ticket": "H-12", "nested": {"a": [1, 2]}},
    )
    assert made["created"] is True
    assert (made["entry_id"], made["file_path"]) == ("rotate-the-signing-keys", "runbooks/rotate-the-signing-keys.md")
    entry = writer.call("kb_get", entry_id=made["entry_id"], kb_name="harbour")["entry"]
    assert entry["revision"] == made["revision"]
    assert (entry["title"], entry["date"], entry["importance"]) == ("Rotate the signing keys", "2026-03-01", 7)
    assert (entry["tags"], entry["participants"], entry["role"]) == (["security", "keys/rotation"], ["on-call"], "lead")
    assert entry["severity"] == "high", "a field that the type declares stands at the top"
    assert entry["metadata"] == {"severity": "high", "ticket": "H-12", "nested": {"a": [1, 2]}}
    assert "ticket" not in entry, "one that it does not declare stands in metadata alone"
    assert writer.call("kb_search", query="quixotically", kb_name="harbour")["results"][0]["id"] == made["entry_id"]
    assert (base / made["file_path"]).read_text().endswith("\n\nFirst, quixotically, look around.\n")


def test_creating_twice_never_overwrites(writer: Agent, base: Path) -> None:
    made = writer.call("kb_create", kb_name="harbour", entry_type="note", title="Once", body="First.")
    before = (base / made["file_path"]).read_bytes()
    refused = writer.refusal("kb_create", kb_name="harbour", entry_type="note", title="Once", body="Second.")
    assert refused["error_code"] == "ENTRY_EXISTS"
    assert (base / made["file_path"]).read_bytes() == before


@pytest.mark.parametrize(
    ("title", "identifier"),
    [
        ("日本語のページ", "日本語のページ"),
        ("دليل الطوارئ", "دليل-الطوارئ"),
        ("Straße & Überfahrt", "straße-überfahrt"),
    ],
)
def test_titles_in_any_script_give_stable_ids(writer: Agent, title: str, identifier: str) -> None:
    made = writer.call("kb_create", kb_name="harbour", entry_type="note", title=title)
    assert made["entry_id"] == identifier
    assert writer.call("kb_get", entry_id=identifier)["entry"]["title"] == title


def test_an_emoji_title_gives_a_stable_id(writer: Agent) -> None:
    made = writer.call("kb_create", kb_name="harbour", entry_type="note", title="⚓🚢")
    assert made["entry_id"]
    assert (
        writer.refusal("kb_create", kb_name="harbour", entry_type="note", title="⚓🚢")["error_code"] == "ENTRY_EXISTS"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        ({"entry_type": "note", "title": "?!... --"}, "VALIDATION_FAILED", "letter"),
        ({"entry_type": "note", "title": "x" * 10_000}, "VALIDATION_FAILED", "title"),
        ({"entry_type": "note", "title": "T", "importance": 99}, "VALIDATION_FAILED", "importance"),
        ({"entry_type": "note", "title": "T", "date": "someday"}, "VALIDATION_FAILED", "date"),
        ({"entry_type": "spaceship", "title": "T"}, "UNDECLARED_TYPE", "runbook"),
        ({"entry_type": "note"}, "MISSING_PARAMETER", "title"),
    ],
)
def test_a_wrong_entry_is_refused_and_nothing_changes(
    writer: Agent, base: Path, arguments: dict[str, object], code: str, named: str
) -> None:
    before = sorted(path.name for path in base.rglob("*"))
    refused = writer.refusal("kb_create", kb_name="harbour", **arguments)
    assert refused["error_code"] == code
    assert named in refused["error"]
    assert sorted(path.name for path in base.rglob("*")) == before


def test_an_update_changes_the_named_field_and_no_other_byte(writer: Agent, base: Path) -> None:
    file = base / f"{RESTORE}.md"
    before = file.read_text().splitlines()
    made = writer.call("kb_update", entry_id=RESTORE, kb_name="harbour", importance=9)
    after = file.read_text().splitlines()
    assert [line for line in after if line not in before] == ["importance: 9"]
    assert [line for line in before if line not in after] == []
    assert made["file_path"] == f"{RESTORE}.md"


def test_a_stale_revision_is_a_conflict_that_names_the_current_one(writer: Agent, base: Path) -> None:
    first = writer.call("kb_get", entry_id=RESTORE)["entry"]["revision"]
    current = writer.call("kb_update", entry_id=RESTORE, kb_name="harbour", status="draft")["revision"]
    before = (base / f"{RESTORE}.md").read_bytes()
    refused = writer.refusal("kb_update", entry_id=RESTORE, kb_name="harbour", status="final", revision=first)
    assert (refused["error_code"], refused["current_revision"]) == ("CONFLICT", current)
    assert (base / f"{RESTORE}.md").read_bytes() == before
    assert writer.call("kb_update", entry_id=RESTORE, kb_name="harbour", status="final", revision=current)["updated"]


def test_every_field_that_an_update_names_is_set_and_null_removes_it(writer: Agent, own: Base) -> None:
    writer.call("kb_get", entry_id=RESTORE, kb_name=own.name)
    writer.call(
        "kb_update",
        entry_id=RESTORE,
        kb_name=own.name,
        title="Restore it",
        body="# Restore it\n\nNew text.\n",
        tags=["a"],
        participants=["b"],
        metadata={"x": 1},
        status="draft",
        date="2026-01-02",
        location="Quay",
        summary="Short",
    )
    writer.call("kb_update", entry_id=RESTORE, kb_name=own.name, metadata={"y": 2}, status=None)
    entry = writer.call("kb_get", entry_id=RESTORE, kb_name=own.name)["entry"]
    assert (entry["title"], entry["body"], entry["tags"]) == ("Restore it", "# Restore it\n\nNew text.\n", ["a"])
    assert (entry["participants"], entry["status"]) == (["b"], None)
    assert {"x": 1, "y": 2}.items() <= entry["metadata"].items()
    assert (entry["date"], entry["location"], entry["summary"]) == ("2026-01-02", "Quay", "Short")


def test_an_entry_is_deleted(writer: Agent, own: Base) -> None:
    writer.call("kb_get", entry_id=RESTORE, kb_name=own.name)
    answer = writer.call("kb_delete", entry_id=RESTORE, kb_name=own.name)
    assert (answer["deleted"], answer["entry_id"]) == (True, RESTORE)
    assert not (own.path / f"{RESTORE}.md").exists()
    gone = writer.refusal("kb_get", entry_id=RESTORE, kb_name=own.name)
    assert gone["error_code"] == "ENTRY_NOT_FOUND"


def test_a_link_is_made_once_and_seen_from_both_ends(writer: Agent) -> None:
    arguments = {"source_id": "topics/tides", "source_kb": "harbour", "target_id": RESTORE, "relation": "supports"}
    first = writer.call("kb_link", **arguments, note="for the record")
    assert first["linked"] is True
    assert writer.call("kb_link", **arguments)["revision"] == first["revision"]
    entry = writer.call("kb_get", entry_id="topics/tides")["entry"]
    assert [link["relation"] for link in entry["links"] if link["target_id"] == RESTORE] == ["supports"]
    back = writer.call("kb_backlinks", entry_id=RESTORE, kb_name="harbour")["backlinks"]
    assert ("topics/tides", "supported_by", "for the record") in [(b["id"], b["relation"], b["note"]) for b in back]


def test_several_entries_are_created_in_one_step_and_a_wrong_one_stops_no_other(writer: Agent) -> None:
    answer = writer.call(
        "kb_bulk_create",
        kb_name="harbour",
        entries=[
            {"entry_type": "note", "title": "Bulk one"},
            {"entry_type": "nonsense", "title": "Bulk two"},
            {"entry_type": "note", "title": "Bulk one"},
            {"title": "Bulk three"},
            {"entry_type": "note", "title": "Bulk four"},
        ],
    )
    assert (answer["total"], answer["created"], answer["failed"]) == (5, 3, 2)
    codes = [result.get("error_code", result.get("entry_id")) for result in answer["results"]]
    assert codes == ["bulk-one", "UNDECLARED_TYPE", "ENTRY_EXISTS", "bulk-three", "bulk-four"]


def test_checks_after_a_write_are_given_only_when_there_is_something(writer: Agent) -> None:
    note = {"kb_name": "harbour", "entry_type": "note"}
    assert "qa_issues" not in writer.call("kb_create", **note, title="Good", body="Text.", validate=True)
    many = [writer.call("kb_create", **note, title=f"Bad {n}", body=f"[[none-{n}]]") for n in range(9)]
    issues = next(
        value["qa_issues"] for value in many if "qa_issues" in value
    )  # a busy machine leaves some out, and says so
    assert [issue["rule"] for issue in issues] == ["broken_link"], "kb.yaml says qa_on_write"


def test_a_value_that_breaks_its_type_comes_back_as_a_warning(writer: Agent) -> None:
    made = writer.call(
        "kb_create", kb_name="harbour", entry_type="runbook", title="Odd", body="x", metadata={"severity": "extreme"}
    )
    assert made["warnings"][0]["field"] == "severity"


def test_an_assessment_is_kept_as_an_entry(writer: Agent, own: Base) -> None:
    element = writer.call("kb_qa_assess", kb_name=own.name, entry_id="topics/monitoring")
    assert (element["target_entry"], element["qa_status"], element["issues_found"]) == ("topics/monitoring", "warn", 1)
    entry = writer.call("kb_get", entry_id=element["assessment_id"], kb_name=own.name)["entry"]
    assert (entry["entry_type"], entry["qa_status"]) == ("qa_assessment", "warn")
    whole = writer.call("kb_qa_assess", kb_name=own.name)
    assert (whole["assessed"], whole["skipped"]) == (36, 1)
    assert writer.call("kb_qa_assess", kb_name=own.name)["assessed"] == 0
    coverage = writer.call("kb_qa_status", kb_name=own.name)["coverage"]
    assert (coverage["total"], coverage["assessed"], coverage["coverage_pct"]) == (37, 37, 100.0)


def test_writes_are_files_until_they_are_committed(shop: Shop) -> None:
    repo = shop.repos["plain"]
    shop.agent.call("kb_create", kb_name="plain", entry_type="note", title="B")
    assert repo.git("rev-list", "--count", "HEAD") == "1"
    assert repo.git("status", "--porcelain", "-uall") == "?? notes/b.md"


def test_with_automatic_commits_each_write_is_one(committing: tuple[Agent, dict[str, GitRepo]]) -> None:
    writer, repos = committing
    repo = repos["each"]
    writer.call("kb_create", kb_name="each", entry_type="note", title="B")
    writer.call("kb_update", entry_id="b", kb_name="each", status="x")
    entries = [{"entry_type": "note", "title": f"Bulk {n}"} for n in range(3)]
    writer.call("kb_bulk_create", kb_name="each", entries=entries)
    writer.call("kb_delete", entry_id="b", kb_name="each")
    assert repo.git("rev-list", "--count", "HEAD") == "5"
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("log", "-1", "--format=%an <%ae>") == "Test Writer <writer@example.org>"


def test_a_base_in_a_subfolder_commits_its_own_files_alone(committing: tuple[Agent, dict[str, GitRepo]]) -> None:
    writer, repos = committing
    repo = repos["part"]
    repo.write("src/code.py", "2\n")
    repo.git("add", "src/code.py")
    repo.write("src/other.py", "3\n")
    writer.call("kb_create", kb_name="part", entry_type="note", title="B")
    assert repo.git("show", "--name-only", "--format=", "HEAD") == "part/notes/b.md"
    assert repo.git("status", "--porcelain") == "M  src/code.py\n?? src/other.py"


def test_automatic_commits_without_git_are_refused_at_start(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(base), "--commit", "auto"]) == 2
    assert "not in a Git repository" in capsys.readouterr().err


def test_types_are_declared_and_removed_and_comments_stay(writer: Agent, shop: Shop, own: Base) -> None:
    comment = (own.path / "kb.yaml").read_text().splitlines()[0]
    assert writer.call("kb_manage", action="validate", kb_name=own.name)["valid"] is True
    made = writer.call(
        "kb_manage", action="add_type", kb_name=own.name, type_name="vessel",
        type_def={"description": "A ship", "fields": {"length": {"type": "number", "min": 1}}},
    )  # fmt: skip
    assert made == {"added": True, "type_name": "vessel", "kb_name": own.name}
    assert writer.call("kb_create", kb_name=own.name, entry_type="vessel", title="Seagull")["file_path"] == "seagull.md"
    shown = writer.call("kb_manage", action="show_schema", kb_name=own.name)
    assert shown["types"]["vessel"]["fields"] == {"length": {"type": "number", "min": 1}}
    assert writer.call("kb_manage", action="remove_type", kb_name=own.name, type_name="vessel")["removed"] is True
    assert writer.refusal("kb_manage", action="remove_type", kb_name=own.name, type_name="vessel")["error"]
    count = writer.call("kb_manage", action="set_schema", kb_name=own.name, schema={"goals": {"g": "x"}})
    assert count["set"] is True
    synced = writer.call("kb_index_sync", kb_name=own.name)
    assert (synced["synced"], synced["added"], synced["removed"]) == (True, 0, 0)
    assert writer.call("kb_index_sync", background=True) == {"submitted": True}
    assert writer.call("kb_manage", action="discover")["discovered"] == BASES + len(shop.repos)
    text = (own.path / "kb.yaml").read_text()
    assert text.splitlines()[0] == comment
    assert "vessel" not in text


def test_a_broken_kb_yaml_is_named_with_its_line_and_the_base_stays_readable(writer: Agent, own: Base) -> None:
    (own.path / "kb.yaml").write_text("name: harbour\ntypes: [unclosed\n")
    judged = writer.call("kb_manage", action="validate", kb_name=own.name)
    assert not judged["valid"]
    assert "line" in judged["errors"][0]
    assert "column" in judged["errors"][0]
    assert writer.call("kb_search", query="restore", kb_name=own.name)["total"] > 0


def test_a_repository_stays_sound(committing: tuple[Agent, dict[str, GitRepo]]) -> None:
    writer, repos = committing
    for number in range(5):
        writer.call("kb_create", kb_name="sound", entry_type="note", title=f"N {number}")
    repos["sound"].git("fsck", "--strict")


def test_a_commit_holds_this_bases_files_alone_and_leaves_other_staging(shop: Shop) -> None:
    admin, repo = shop.agent, shop.repos["part"]
    repo.write("src/code.py", "2\n")
    repo.git("add", "src/code.py")
    admin.call("kb_create", kb_name="part", entry_type="note", title="B")
    admin.call("kb_create", kb_name="part", entry_type="note", title="C")
    element = admin.call("kb_commit", kb="part", message="Add B", paths=["notes/b.md"], sign_off=True)
    assert (element["success"], element["files"], element["files_changed"]) == (True, ["notes/b.md"], 1)
    assert element["commit_hash"] == repo.git("rev-parse", "HEAD")
    rest = admin.call("kb_commit", kb="part", message="Add the rest")
    assert rest["files"] == ["notes/c.md"]
    nothing = admin.refusal("kb_commit", kb="part", message="Again")
    assert nothing["error_code"] == "GIT_ERROR"
    assert nothing["retryable"] is False
    assert "Signed-off-by: Test Writer <writer@example.org>" in repo.git("log", "-1", "--format=%B", "HEAD~1")
    assert repo.git("show", "--name-only", "--format=", "HEAD") == "part/notes/c.md"
    assert repo.git("status", "--porcelain") == "M  src/code.py"


def test_a_push_reaches_the_remote_or_says_why_not(shop: Shop, tmp_path: Path) -> None:
    admin, repo = shop.agent, shop.repos["pushed"]
    bare = tmp_path / "remote.git"
    repo.git("init", "--quiet", "--bare", str(bare))
    none = admin.refusal("kb_push", kb="pushed")
    assert (none["error_code"], none["retryable"]) == ("GIT_ERROR", False)
    repo.git("remote", "add", "origin", str(bare))
    assert admin.call("kb_push", kb="pushed")["success"] is True
    assert repo.git("ls-remote", str(bare), "refs/heads/main").split()[0] == repo.git("rev-parse", "HEAD")
    repo.git("commit", "--quiet", "--allow-empty", "--amend", "--message", "Rewritten")
    rejected = admin.refusal("kb_push", kb="pushed")
    assert (rejected["error_code"], rejected["retryable"]) == ("GIT_ERROR", False)
    assert "suggestion" in rejected
    assert str(tmp_path) not in json.dumps(rejected)
    repo.git("remote", "set-url", "origin", "http://127.0.0.1:9/nothing.git")
    away = admin.refusal("kb_push", kb="pushed")
    assert (away["error_code"], away["retryable"]) == ("GIT_ERROR", True)


def test_what_git_would_take_for_an_option_never_reaches_it(shop: Shop) -> None:
    admin, repo = shop.agent, shop.repos["hostile"]
    for remote in ("--upload-pack=touch x", "ext::sh -c touch% x", "-x"):
        assert admin.refusal("kb_push", kb="hostile", remote=remote)["error_code"] in {"GIT_ERROR", "VALIDATION_FAILED"}
    for path in ("../a.md", ".git/config", "/etc/passwd"):
        assert admin.refusal("kb_commit", kb="hostile", message="m", paths=[path])["error_code"] == "VALIDATION_FAILED"
    assert sorted(path.name for path in repo.path.iterdir() if path.name != canary.NAME) == [".git", "a.md"]


def test_a_tier_is_a_wall_and_its_tools_stay_small(shop: Shop, committing: tuple[Agent, dict[str, GitRepo]]) -> None:
    admin, (writer, _) = shop.agent, committing
    written, administered = writer.tools(), admin.tools()
    only_admin = ["kb_index_sync", "kb_manage", "kb_commit", "kb_push"]
    assert [name for name in administered if name not in written] == only_admin
    assert (len(written), len(administered)) == (21, 25)
    for name in (*only_admin, "kb_unknown"):
        assert writer.protocol_error(name, kb_name="each").error.code == -32602
    wire = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in administered.values()]
    assert len(json.dumps(wire, separators=(",", ":"), ensure_ascii=False)) / 4 <= 6_500
