"""The branches of proposals in a remote that is not trusted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, ReadOnlyError, UnavailableError
from commonplace.domain.proposals import Decision, Proposer
from commonplace.store.folder.proposal_branches import CLOSED, OPEN
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import parse_source
from commonplace.store.replica.remote_proposals import RemoteProposals
from commonplace.store.replica.writable import ReplicaStore, WritableReplicaStore
from remotes.replicas import team

AGENT = Proposer("key:agent", "session", client="an agent")


def opened(folder: Path, remote: Path) -> tuple[ReplicaClone, RemoteProposals]:
    clone = ReplicaClone(folder, parse_source(str(remote)))
    clone.fetch()
    return clone, WritableReplicaStore(clone, lambda: None, lambda: "").proposals


def propose(proposals: RemoteProposals, path: str, text: bytes) -> str:
    store = proposals.store(proposals.new_id(), AGENT)
    with store.transaction(f"Write {path}") as transaction:
        transaction.put(Address(path), text)
    return store.proposal_id


def git(remote: Path, *arguments: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", "--git-dir", str(remote), *arguments], input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


def plant(remote: Path, identifier: str, name: bytes) -> None:
    """A branch of a proposal with a file of this name, made without git's own checks."""
    blob = git(remote, "hash-object", "-w", "--stdin", stdin=b"text\n")
    tree = git(
        remote,
        "hash-object",
        "-t",
        "tree",
        "-w",
        "--literally",
        "--stdin",
        stdin=b"100644 " + name + b"\0" + bytes.fromhex(blob),
    )
    lines = [f"tree {tree}", f"parent {git(remote, 'rev-parse', 'HEAD')}"]
    lines += [f"{role} E <e@x.org> 1 +0000" for role in ("author", "committer")]
    words = "\n".join([*lines, "", "Write", "", f"Proposal: {identifier}", "Proposal-Caller: key:agent", ""])
    commit = git(remote, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=words.encode())
    place = remote / OPEN / identifier
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{commit}\n")


def test_what_git_refuses_or_nobody_proposed_is_left_out_and_the_rest_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, remote = team(tmp_path)
    _, other = opened(tmp_path / "one", remote)
    good = propose(other, "good.md", b"# Good\n")
    for number, name in enumerate([b".git", b"..", b"a/../../x.md", b""]):
        plant(remote, f"bad-{number}", name)
    strange = b"x\x1b[2J\xe2\x80\xae\n\xff.md"
    plant(remote, "strange", strange)
    for name in ("UPPER", "in/folder", "x" * 90):
        git(remote, "update-ref", OPEN + name, "HEAD")
    git(remote, "update-ref", OPEN + "plain", "HEAD")
    git(remote, "update-ref", CLOSED + "plain", "HEAD")
    clone, proposals = opened(tmp_path / "two", remote)
    proposals.follow()
    assert {proposal.id for proposal in proposals.listed()} == {"strange", good}
    left_out = proposals.left_out(proposals.proposal("strange"))
    assert left_out == [os.fsdecode(strange)]
    assert [file.address.path for file in proposals.files(proposals.proposal("strange"))] == ["a.md"]
    refused = {message for message in caplog.messages if "is left out" in message}
    assert {f"bad-{number}" for number in range(4)} <= {
        word for message in refused for word in message.replace("/", " ").split()
    }
    assert not [name for name in clone.repository.targets() if "bad-" in name or "UPPER" in name or "folder" in name]
    before = len(caplog.messages)
    proposals.follow()
    assert len(caplog.messages) == before, "a branch that git refused is not fetched again at once"
    assert propose(proposals, "next.md", b"# Next\n") == good, "one proposer's writes gather"
    git(remote, "update-ref", "-d", OPEN + "strange")
    proposals.refresh()
    assert [proposal.id for proposal in proposals.listed()] == [good]


def test_a_remote_that_refuses_a_proposal_is_named_and_nothing_stays(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    clone, proposals = opened(tmp_path / "one", remote)
    git(remote, "config", "receive.denyDeletes", "true")
    identifier = propose(proposals, "a.md", b"# A\n")
    with pytest.raises(GitError, match="deletion prohibited"), proposals.locked():
        proposals.close(proposals.proposal(identifier), "declined", Decision("no"))
    assert proposals.proposal(identifier).state == "open"
    assert not git(remote, "for-each-ref", CLOSED)
    git(remote, "config", "receive.denyDeletes", "false")
    proposal = proposals.proposal(identifier)
    with proposals.locked():
        git(remote, "update-ref", OPEN + identifier, "HEAD")
        with pytest.raises(UnavailableError, match="Another program changed the proposal"):
            proposals.take_up(proposal, AGENT)
    remote.rename(remote.with_name("gone.git"))
    with pytest.raises(UnavailableError):
        propose(proposals, "b.md", b"# B\n")
    assert [name for name in clone.repository.targets() if name.startswith(OPEN)] == [OPEN + identifier]


def accept(remote: Path, tip: str) -> str:
    """The commit with which another server accepts a proposal that it does not close."""
    words = f"Accept\n\nProposal-Tip: {tip}"
    person = ["-c", "user.name=E", "-c", "user.email=e@x.org"]
    commit = git(remote, *person, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", words)
    git(remote, "update-ref", "HEAD", commit)
    return commit


def test_what_the_branch_has_was_accepted_whatever_closes_the_proposal(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    _, first = opened(tmp_path / "one", remote)
    clone, second = opened(tmp_path / "two", remote)
    accepted_before = propose(first, "a.md", b"# A\n")
    second.refresh()
    proposal = second.proposal(accepted_before)
    with second.locked():
        commit = accept(remote, proposal.tip)
        with pytest.raises(UnavailableError, match="Another program changed the proposal"):
            second.close(proposal, "declined", Decision("no"))
    assert (second.proposal(proposal.id).state, second.proposal(proposal.id).commit) == ("accepted", commit)

    accepted_after = propose(second, "b.md", b"# B\n")
    proposal = second.proposal(accepted_after)
    with second.locked():
        assert second.close(proposal, "declined", Decision("no")).state == "declined"
    commit = accept(remote, proposal.tip)  # by a server that read the proposal as open
    clone.fetch()
    now = second.proposal(accepted_after)
    assert (now.state, now.commit, now.word) == ("accepted", commit, "")
    assert {(row.id, row.state) for row in second.closed()} == {
        (accepted_before, "accepted"),
        (accepted_after, "accepted"),
    }


def test_a_replica_that_only_reads_lists_proposals_and_takes_no_decision(tmp_path: Path) -> None:
    _, remote = team(tmp_path)
    _, other = opened(tmp_path / "one", remote)
    identifier = propose(other, "good.md", b"# Good\n")
    clone = ReplicaClone(tmp_path / "two", parse_source(str(remote)))
    clone.fetch()
    proposals = ReplicaStore(clone).proposals
    assert [proposal.id for proposal in proposals.listed()] == [identifier]
    with pytest.raises(ReadOnlyError, match="only reads"):
        propose(proposals, "b.md", b"# B\n")
    with pytest.raises(ReadOnlyError, match="only reads"), proposals.locked():
        pass
