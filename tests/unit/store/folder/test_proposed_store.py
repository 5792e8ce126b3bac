"""A write that meets a decision on its proposal: it never takes the id of a closed one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError
from commonplace.services import writes
from commonplace.services.proposals import decisions
from proposing import ProposedBase


@pytest.mark.parametrize("decision", ["declined", "accepted"])
def test_a_proposal_that_was_decided_on_meanwhile_is_not_written_into(tmp_path: Path, decision: str) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n"}) as base:
        with base.view() as view:
            writes.create(view, Address("one.md"), b"# One\n")
        (first,) = base.open_ids()
        with base.view() as view:
            with ThreadPoolExecutor(1) as person:  # another call: this one may only propose
                if decision == "declined":
                    person.submit(lambda: decisions.decline(base.found(), "No")).result()
                else:
                    person.submit(base.accept).result()
            refs = base.repo.git("for-each-ref")
            with pytest.raises(ConflictError, match=f"was {decision} meanwhile"):
                writes.create(view, Address("two.md"), b"# Two\n")
            assert base.repo.git("for-each-ref") == refs
        with base.view() as view:
            writes.create(view, Address("two.md"), b"# Two\n")
        (second,) = base.open_ids()
        assert second != first
        assert base.closed(first).state == decision
