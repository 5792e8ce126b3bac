"""The commits of a proposal's branch: made durable, or left over by a process that was killed."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services import writes
from commonplace.store.folder.branch_commits import TOKEN_PREFIX
from proposing import ProposedBase


def propose(base: ProposedBase, old: str, new: str) -> None:
    with base.view() as view:
        writes.replace_once(view, Address("a.md"), old, new)


def test_what_a_killed_process_left_does_not_block_the_next_write(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n\ntwo\n"}) as base:
        propose(base, "one", "ONE")
        identifier = base.open_ids()[0]
        gitdir = base.repo.path / ".git"
        left = gitdir / f"commonplace-{TOKEN_PREFIX}abc.ref"
        left.write_text(f"{base.found().proposal.tip}\n", encoding="ascii")
        (gitdir / f"refs/heads/proposals/{identifier}.lock").hardlink_to(left)
        object_ = gitdir / f"objects/tmp_obj_commonplace_{TOKEN_PREFIX}abc_1234_0"
        object_.write_bytes(b"part")
        propose(base, "two", "TWO")
        assert not left.exists()
        assert not object_.exists()
