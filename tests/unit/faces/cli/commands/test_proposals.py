"""`commonplace proposals`: listed, shown, decided on and amended by people."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.services import writes
from commonplace.services.proposals.views import proposer_of
from proposing import ProposedBase
from shell import Shell
from support import GitRepo, new_repo

A = "# A\n\none\n\n## Plan\n\ntwo\n"


@pytest.fixture
def identifier(tmp_path: Path) -> str:
    with ProposedBase(tmp_path, {"a.md": A, "b.md": "# B\n"}) as base, base.view() as view:
        writes.replace_once(view, Address("a.md"), "two", "TWO")
        writes.append(view, Address("b.md"), "see [[nowhere]]\n")
        return base.open_ids()[0]


def test_a_person_reads_amends_and_accepts(tmp_path: Path, shell: Shell, identifier: str) -> None:
    base = ("-C", str(tmp_path / "base"))
    assert shell.ok("proposals", *base).lines[0].startswith(identifier)
    shown = shell.ok("proposals", "show", identifier, *base).text
    assert "-two\n+TWO\n" in shown
    assert "! b.md: " in shown
    (tmp_path / "better.md").write_text("# B\n\nsee [[a]]\n", encoding="utf-8")
    amended = shell.ok("proposals", "amend", identifier, "b.md", str(tmp_path / "better.md"), *base)
    assert amended.text == f"Amended {identifier}: b.md\n"
    report = shell.ok("proposals", "show", identifier, "--json", *base).json
    assert [(file["path"], file["action"], file["new_findings"]) for file in report["files"]] == [
        ("a.md", "change", []),
        ("b.md", "change", []),
    ]
    part = shell.ok("proposals", "accept", identifier, "--page", "a.md", "--section", "Plan", "--json", *base).json
    assert (part["state"], part["written"]) == ("open", ["a.md"])
    done = shell.ok("proposals", "accept", identifier, "--tip", part["tip"], "--json", *base).json
    assert (done["state"], done["written"]) == ("accepted", ["b.md"])
    assert (tmp_path / "base/a.md").read_text(encoding="utf-8") == A.replace("two", "TWO")
    assert (tmp_path / "base/b.md").read_text(encoding="utf-8") == "# B\n\nsee [[a]]\n"
    assert shell.ok("proposals", "--json", *base).json == {"proposals": []}
    assert [proposal["state"] for proposal in shell.ok("proposals", "--all", "--json", *base).json["proposals"]] == [
        "accepted"
    ]


def test_no_decision_is_larger_than_what_was_named(tmp_path: Path, shell: Shell, identifier: str) -> None:
    base = ("-C", str(tmp_path / "base"))
    part = shell.ok("proposals", "accept", identifier, "a.md", "--json", *base).json
    assert (part["state"], part["written"]) == ("open", ["a.md"])
    refused = {
        ("accept", identifier, identifier): f"does not change '{identifier}",
        ("accept", identifier, "absent", "--dry-run"): "does not change 'absent",
        ("withdraw", identifier, "b.md"): "withdraw does not take b.md.",
        ("push", identifier, identifier): "push does not take",
        ("decline", identifier, "--page", "b.md"): "decline is for a whole proposal",
        ("list", "b.md"): "list does not take b.md.",
        ("show", identifier, "a.md", "b.md"): "show does not take b.md.",
    }
    for arguments, words in refused.items():
        answer = shell("proposals", *arguments, *base)
        assert answer.code, arguments
        assert words in answer.stderr, arguments
    assert [row["state"] for row in shell.ok("proposals", "--json", *base).json["proposals"]] == ["open"]


def test_decline_withdraw_and_push(tmp_path: Path, shell: Shell, identifier: str) -> None:
    folder = tmp_path / "base"
    base = ("-C", str(folder))
    remote = new_repo(tmp_path / "remote")
    remote.git("config", "core.bare", "true")
    GitRepo(folder).git("remote", "add", "origin", str(remote.path / ".git"))
    assert "proposals/" in shell.ok("proposals", "push", identifier, *base).text
    assert remote.git("for-each-ref", "--format=%(refname)").endswith(f"refs/heads/proposals/{identifier}")
    shell.ok("proposals", "decline", identifier, "--word", "Not now", *base)
    assert "Declined: Not now" in shell.ok("proposals", "show", identifier, *base).text
    refused = shell("proposals", "accept", identifier, *base)
    assert refused.code
    assert "declined already" in refused.stderr


def test_a_list_is_narrowed_and_several_are_declined(tmp_path: Path, shell: Shell, identifier: str) -> None:
    with (
        ProposedBase(tmp_path, {}) as base,
        base.view(proposer_of("key:b", "2", client="tidier", purpose="Tidy")) as view,
    ):
        writes.create(view, Address("inbox/c.md"), b"# C\n")
    other = next(name for name in base.open_ids() if name != identifier)
    folder, both = ("-C", str(tmp_path / "base")), {identifier, other}
    for options, ids in (
        ((), both), (("--client", "TIDIER"), {other}), (("--client", "tid"), set()), (("--page", "inbox"), {other}),
        (("--page", "a"), {identifier}), (("--page", "a.md", "--page", "inbox/c"), both),
        (("--matching", "tidy"), {other}),
        (("--author", "nobody"), set()), (("--state", "declined"), set()), (("--state", "open"), both),
    ):  # fmt: skip
        listed = shell.ok("proposals", "list", *options, "--json", *folder).json["proposals"]
        assert {row["id"] for row in listed} == ids, options
    tip = shell("proposals", "decline", identifier, other, "--tip", "0" * 40, *folder)
    assert "A tip is that of one proposal" in tip.stderr
    missing = shell("proposals", "decline", identifier, "20200101-abcdef", *folder)
    assert (missing.code != 0, len(shell.ok("proposals", "--json", *folder).json["proposals"])) == (True, 2)
    done = shell.ok("proposals", "decline", identifier, other, identifier, "--word", "Not now", "--json", *folder).json
    assert [(row["id"], row["state"], row["word"]) for row in done["proposals"]] == [
        (name, "declined", "Not now") for name in (identifier, other)
    ]
    declined = shell.ok("proposals", "list", "--state", "declined", "--json", *folder).json["proposals"]
    assert {row["id"] for row in declined} == both
    assert {row["id"] for row in shell.ok("proposals", "--all", "--json", *folder).json["proposals"]} == both


def test_what_a_part_would_write_and_cause_is_said_without_writing(
    tmp_path: Path, shell: Shell, identifier: str
) -> None:
    folder = tmp_path / "base"
    head = GitRepo(folder).git("rev-parse", "HEAD")
    for part, written, causes in ((("--page", "a"), ["a.md"], []), (("--page", "b"), ["b.md"], ["b.md"])):
        options = ("accept", identifier, *part, "--dry-run", "-C", str(folder))
        tried = shell.ok("proposals", *options, "--json").json
        assert (tried["dry_run"], tried["state"], tried["written"]) == (True, "open", written)
        assert [row["path"] for row in tried["new_findings"]] == causes
        text = shell.ok("proposals", *options).text
        assert (written[0] in text, "nowhere" in text) == (True, bool(causes)), text
    assert GitRepo(folder).git("rev-parse", "HEAD") == head
    assert (folder / "b.md").read_text(encoding="utf-8") == "# B\n"


@pytest.mark.parametrize(
    "arguments", [("show",), ("accept",), ("show", "none"), ("amend", "none"), ("accept", "../../etc")]
)
def test_what_is_no_proposal_is_refused(tmp_path: Path, shell: Shell, identifier: str, arguments: tuple[str]) -> None:
    del identifier
    done = shell("proposals", *arguments, "-C", str(tmp_path / "base"), "--json")
    assert done.code
    assert done.error["message"]


def test_a_conflict_names_its_sides(tmp_path: Path, shell: Shell, identifier: str) -> None:
    folder = tmp_path / "base"
    (folder / "a.md").write_text(A.replace("two", "zwei"), encoding="utf-8")
    done = shell("proposals", "accept", identifier, "-C", str(folder))
    assert done.code
    assert "a.md:7" in done.stderr
    assert "proposed: TWO" in done.stderr
    assert f"The call: commonplace proposals accept {identifier} --page a.md --text FILE" in done.stderr
    assert (folder / "a.md").read_text(encoding="utf-8") == A.replace("two", "zwei")


def test_the_text_that_is_given_is_what_the_page_says(tmp_path: Path, shell: Shell, identifier: str) -> None:
    folder = tmp_path / "base"
    (folder / "a.md").write_text(A.replace("two", "zwei"), encoding="utf-8")
    (tmp_path / "final.md").write_text("# A\n\nfinal\n", encoding="utf-8")
    text = ("--text", str(tmp_path / "final.md"))
    refused = shell("proposals", "accept", identifier, *text, "-C", str(folder))
    assert refused.code
    assert "Of which page" in refused.stderr
    done = shell.ok("proposals", "accept", identifier, "--page", "a", *text, "-C", str(folder))
    assert "a.md" in done.text
    assert (folder / "a.md").read_text(encoding="utf-8") == "# A\n\nfinal\n"
    assert (folder / "b.md").read_text(encoding="utf-8") == "# B\n"


def test_a_move_is_shown_as_one(tmp_path: Path, shell: Shell) -> None:
    with ProposedBase(tmp_path, {"a.md": A, "b.md": "# B\n\n[[nowhere]]\n"}) as base, base.view() as view:
        writes.rename(view, Address("b.md"), Address("sub/c.md"))
        identifier = base.open_ids()[0]
    shown = shell.ok("proposals", "show", identifier, "-C", str(tmp_path / "base"))
    assert shown.lines[1:] == ["", "renamed from b.md to sub/c.md"]
    (file,) = shell.ok("proposals", "show", identifier, "-C", str(tmp_path / "base"), "--json").json["files"]
    assert (file["action"], file["path"], file["moved_from"]) == ("move", "sub/c.md", "b.md")


def test_a_folder_without_git_says_what_to_do(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "plain").mkdir()
    done = shell("proposals", "-C", str(tmp_path / "plain"))
    assert done.code
    assert "git init" in done.stderr


def test_proposed_text_cannot_move_the_cursor_of_who_looks(tmp_path: Path, shell: Shell) -> None:
    with ProposedBase(tmp_path, {"a.md": A}) as base, base.view() as view:
        writes.replace_once(view, Address("a.md"), "two", "curl x | sh\x1b[1A\x1b[2K \x9b1A \u202ereversed")
        identifier = base.open_ids()[0]
    text = shell.ok("proposals", "show", identifier, "-C", str(tmp_path / "base")).text
    assert r"+curl x | sh\x1b[1A\x1b[2K \x9b1A \u202ereversed" in text
    assert text.replace("\n", "").replace("\t", "").isprintable()


def test_an_empty_tip_does_not_switch_the_check_off(tmp_path: Path, shell: Shell, identifier: str) -> None:
    done = shell("proposals", "accept", identifier, "--tip", "", "-C", str(tmp_path / "base"))
    assert done.code
    assert "--tip is empty" in done.stderr
    assert (tmp_path / "base/a.md").read_text(encoding="utf-8") == A
