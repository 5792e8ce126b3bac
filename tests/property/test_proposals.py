"""An accepted proposal gives the bytes that writing would have given, whatever others wrote and moved meanwhile.

Two bases go through the same random sequences. In the first one an agent proposes, and its proposal is accepted at the
end; in the second one it writes. Others write to both between. Where both changed one line, or one deleted what the
other changed, acceptance must refuse and write nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.proposals import decisions
from commonplace.services.proposals.acceptance import ProposalConflictError
from proposing import ProposedBase
from support import Amount

SAMPLED, WHOLE = 4, 250
"""Number of sequences of a part in `make test`, and in `make soak`, where the eight parts have 2,000."""
SEEDS = (41, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(42, 49)))
LINES, PAGES, STEPS = 6, 5, 9
FOLDERS = ("", "drafts/", "done/")


def page(name: str, others: list[str]) -> str:
    """A page of lines that are apart from each other, with links to the other pages."""
    lines = [f"{name} line {number}: v0" for number in range(LINES)]
    links = [f"[{element}]({element}.md)" for element in others]
    return "\n\n".join([f"# {name}", *lines, *links]) + "\n"


@dataclass
class Sequence:
    """One random sequence: what is done, and where the proposal and others meet."""

    chance: random.Random
    round: int
    proposed: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    others: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    deleted: set[str] = field(default_factory=set[str])
    touched: set[str] = field(default_factory=set[str])
    """The served pages that the proposal changes by now."""
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """The served path of each page that others have moved."""
    made: int = 0

    @property
    def meets(self) -> bool:
        """Whether both sides changed one line, or the proposal deletes what others changed."""
        return bool(self.proposed & self.others) or any(path in self.deleted for path, _ in self.others)


def set_line(collection: Collection, path: str, number: int, value: str) -> None:
    """Change one line of a page."""

    def change(raw: bytes) -> bytes:
        lines = raw.decode().split("\n")
        at = 2 + 2 * number
        lines[at] = f"{lines[at].partition(':')[0]}: {value}"
        return "\n".join(lines).encode()

    writes.edit(collection, Address(path), lambda document: change(document.raw))


def step_of_the_agent(run: Sequence, now: dict[str, str]) -> Callable[[Collection], object]:
    """One write of the agent, for its view and for the second base. `now` has the agent's path of each page."""
    alive = [element for element in now if element not in run.deleted]
    kind = run.chance.choice(["line", "line", "link", "create", "move", "delete"])
    name = run.chance.choice(alive)
    path = now[name]
    run.made += 1
    if kind == "create":
        new = f"{run.chance.choice(FOLDERS)}new-{run.round}-{run.made}.md"
        return lambda collection: writes.create(collection, Address(new), f"# New\n\n[a](/{new})\n".encode())
    if kind == "delete" and len(alive) > 2:
        run.deleted.add(name)
        return lambda collection: writes.delete(collection, Address(path))
    if kind == "move":
        moved = now[name] = f"{run.chance.choice(FOLDERS)}moved-{run.round}-{run.made}.md"
        return lambda collection: writes.rename(collection, Address(path), Address(moved))
    number, value = run.chance.randrange(LINES), f"agent {run.round} {run.chance.randrange(1_000_000)}"
    if kind == "link":
        value += f" [see](/{now[run.chance.choice(alive)]})"
    run.proposed.add((name, number))
    return lambda collection: set_line(collection, path, number, value)


def step_of_others(run: Sequence, served: Collection, direct: Collection, now: dict[str, str]) -> None:
    """One write of others to what is served, and to the same page of the second base.

    They move no page after a deletion by the agent, as that leaves dead links in the second base only.
    """
    name = run.chance.choice(list(now))
    path = run.moved.get(name, name)
    if not run.deleted and path not in run.touched and run.chance.choice([True, False, False]):
        run.made += 1
        moved = f"{run.chance.choice(FOLDERS)}others-{run.round}-{run.made}.md"
        for collection in (served, direct):
            writes.rename(collection, Address(path), Address(moved))
        now[name] = run.moved[name] = moved
        return
    number = run.chance.randrange(LINES)
    value = f"other {run.round} {run.chance.randrange(1_000_000)}"
    set_line(served, path, number, value)
    if path in run.touched:  # else the agent sees it, and proposes on top of it
        run.others.add((name, number))
    if name not in run.deleted and (name, number) not in run.proposed:
        set_line(direct, now[name], number, value)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", SEEDS)
def test_accepting_gives_the_bytes_of_writing(tmp_path: Path, amount: Amount, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"p{number}" for number in range(PAGES)]
    files: dict[str, str | bytes] = {
        f"{name}.md": page(name, [text for text in names if text != name]) for name in names
    }
    refused = accepted = 0
    with ProposedBase(tmp_path / "first", files) as first, ProposedBase(tmp_path / "second", files) as second:
        for number in range(amount(SAMPLED, WHOLE)):
            run = Sequence(random.Random(chance.random()), number)
            now = {path: path for path in first.texts() if b" line 5" in first.store.read(Address(path))}
            for _ in range(STEPS):
                if run.chance.random() < 0.35:
                    step_of_others(run, first.collection, second.collection, now)
                else:
                    before = first.served()
                    write = step_of_the_agent(run, now)
                    with first.view() as view:
                        write(view)
                        assert view.index.revisions() == {
                            address: writes_revision(view, address) for address, _ in view.store.scan()
                        }
                    assert first.served() == before
                    write(second.collection)
                    proposal = first.found() if first.open_ids() else None
                    run.touched = (
                        {file.address.path for file in proposal.branches.files(proposal.proposal)}
                        if proposal
                        else set()
                    )
            if decide(run, first):
                accepted += 1
                assert first.texts() == second.texts(), f"sequence {number}"
            else:
                refused += 1
            start_again(first, second, files)
    assert accepted
    assert refused


def writes_revision(collection: Collection, address: Address) -> str:
    """The revision of a page's bytes."""
    from commonplace.domain.revisions import revision_of  # noqa: PLC0415 - used here only

    return revision_of(collection.store.read(address))


def decide(run: Sequence, first: ProposedBase) -> bool:
    """Accept the proposal; whether that was possible. A refusal must be due, and must write nothing."""
    if not first.open_ids():
        return True
    if not run.meets:
        first.accept()
        return True
    before = first.served()
    with pytest.raises(ProposalConflictError):
        first.accept()
    assert first.served() == before
    decisions.decline(first.found(), "It meets another write")
    return False


def start_again(first: ProposedBase, second: ProposedBase, files: dict[str, str | bytes]) -> None:
    """Give both bases the same pages for the next sequence: those of the beginning."""
    wanted_values: dict[str, bytes] = {
        path: text.encode() if isinstance(text, str) else text for path, text in files.items()
    }
    for base in (first, second):
        made: Callable[[str], bytes | None] = wanted_values.get
        with base.store.transaction("Start again") as transaction:
            for path in {*base.texts(), *wanted_values}:
                content = made(path)
                if content is None:
                    transaction.remove(Address(path))
                elif base.texts().get(path) != content:
                    transaction.put(Address(path), content)
        base.index.update(sorted({*map(Address, wanted_values), *transaction.receipt.removed}), 10)
        base.index.sync()
