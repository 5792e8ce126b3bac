"""The checker of histories finds each kind of history that cannot be, and none in one that can."""

from __future__ import annotations

from dataclasses import replace

import pytest

from soak.cluster.register_history import Read, Register, Write, problems, stale_reads

FIRST = Write("r0", "r1", 1, 2, "acknowledged")
SECOND = Write("r1", "r2", 3, 4, "acknowledged")
GOOD = Register(("r0", "r1", "r2"), (FIRST, SECOND))


@pytest.mark.parametrize(
    "register",
    [
        GOOD,
        Register(("r0",), ()),
        # An outcome that was never learnt may be either way, and late.
        replace(GOOD, writes=(FIRST, replace(SECOND, outcome="unknown"))),
        Register(("r0", "r1"), (FIRST, replace(SECOND, outcome="unknown"))),
        Register(("r0", "r2", "r3"), (Write("r0", "r2", 1, 2, "unknown"), Write("r2", "r3", 9, 10, "acknowledged"))),
        # Two that overlap: one wins.
        Register(("r0", "r1"), (FIRST, Write("r0", "r9", 1.5, 2.5, "conflict"))),
        # Refused just before, or just after, what it had seen was the state.
        Register(GOOD.states, (FIRST, SECOND, Write("r1", "r9", 1, 1.9, "conflict"))),
        Register(GOOD.states, (FIRST, SECOND, Write("r1", "r9", 2.5, 3.5, "conflict"))),
        Register(GOOD.states, (FIRST, SECOND, Write("r0", "r9", 5, 6, "refused"))),
        # An old answer, and one that came before the write was acknowledged.
        Register(GOOD.states, GOOD.writes, (Read("r0", 5, 6), Read("r2", 3, 3.5))),
    ],
)
def test_a_history_that_can_be_has_no_problem(register: Register) -> None:
    assert problems(register) == []


@pytest.mark.parametrize(
    ("register", "said"),
    [
        (Register(("r0", "r1"), (FIRST, SECOND)), "is lost"),
        (Register(GOOD.states, (FIRST,)), "by nobody"),
        (Register(GOOD.states, (FIRST, replace(SECOND, expected="r0"))), "had seen r0"),
        (Register(("r0", "r1", "r2", "r1"), (FIRST, SECOND)), "2 times"),
        (Register(GOOD.states, (FIRST, replace(SECOND, outcome="conflict"))), "refused (conflict) and is there"),
        (Register(GOOD.states, (FIRST, replace(SECOND, outcome="refused"))), "refused (refused) and is there"),
        # The second was acknowledged before the first was asked for.
        (Register(GOOD.states, (replace(FIRST, began=5, ended=6), SECOND)), "out of order"),
        (
            Register(GOOD.states, (replace(FIRST, began=5, ended=6, outcome="unknown"), SECOND)),
            "out of order",
        ),
        (Register(GOOD.states, (FIRST, SECOND, Write("r2", "r9", 5, 6, "conflict"))), "while the page was at r2"),
        (Register(GOOD.states, (FIRST, SECOND, Write("r1", "r9", 2.2, 2.8, "conflict"))), "while the page was at r1"),
        (Register(("r0",), (), (Read("r7", 1, 2),)), "never was a state"),
        (Register(GOOD.states, GOOD.writes, (Read("r2", 1, 2),)), "before it was written"),
    ],
)
def test_a_history_that_cannot_be_is_found(register: Register, said: str) -> None:
    assert any(said in problem for problem in problems(register)), problems(register)


def test_an_answer_older_than_an_acknowledgement_is_found() -> None:
    assert [*stale_reads(replace(GOOD, reads=(Read("r1", 3.5, 5), Read("r2", 5, 6))))] == []
    assert [*stale_reads(replace(GOOD, reads=(Read("r1", 4.5, 5),)))] == ["r1 was read after r2 was acknowledged"]
