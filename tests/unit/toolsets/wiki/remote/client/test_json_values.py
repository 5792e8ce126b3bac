"""Numbers in a server's answer."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.json import Json
from commonplace.toolsets.wiki.remote.client import decimal


@each_case(("value", "read"), [(2, 2.0), (0.5, 0.5), ("2", 0.0), (None, 0.0), (10**400, 0.0)])
def test_a_decimal_is_a_float_or_0(value: Json, read: float) -> None:
    assert decimal({"n": value}, "n") == read
