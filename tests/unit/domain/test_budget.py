"""The time of one write is shared by its steps, and what is left of it shrinks."""

from __future__ import annotations

from commonplace.domain.budget import LEAST_SECONDS, is_limited, is_spent, renew_budget, seconds_left, write_budget


def test_without_a_budget_a_step_has_its_own_time() -> None:
    renew_budget()
    assert (seconds_left(7.0), is_limited(), is_spent()) == (7.0, False, False)


def test_a_step_gets_no_more_than_its_share_of_what_is_left() -> None:
    with write_budget(1_000.0):
        assert is_limited()
        assert not is_spent()
        assert seconds_left(3.0) == 3.0
        assert 900.0 < seconds_left(9_999.0) <= 1_000.0
        assert seconds_left(9_999.0, share=0.2) <= 200.0
    assert not is_limited()


def test_a_budget_within_another_changes_nothing() -> None:
    with write_budget(5.0), write_budget(1_000.0):
        assert seconds_left(9_999.0) <= 5.0


def test_a_spent_budget_leaves_time_to_fail_with_a_reason() -> None:
    with write_budget(0.0):
        assert (seconds_left(9.0), is_spent()) == (LEAST_SECONDS, True)
        renew_budget()
        assert seconds_left(9.0) == LEAST_SECONDS
