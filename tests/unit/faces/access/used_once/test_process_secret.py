"""The secret that the processes of a server share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.faces.access import used_once
from commonplace.faces.access.used_once import SECRET_BYTES, secret_for, share_secret


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    before = vars(used_once)["_Secret"].value
    yield
    share_secret(before)


def test_each_purpose_has_a_key_of_its_own_which_lasts() -> None:
    assert secret_for("rounds") == secret_for("rounds") != secret_for("sign in")
    assert len(secret_for("rounds")) == SECRET_BYTES


def test_processes_with_one_secret_have_the_same_keys() -> None:
    share_secret(b"1" * SECRET_BYTES)
    first = secret_for("rounds")
    share_secret(b"2" * SECRET_BYTES)
    assert secret_for("rounds") != first
    share_secret(b"1" * SECRET_BYTES)
    assert secret_for("rounds") == first
