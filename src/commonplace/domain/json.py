"""The type of every JSON value that the product returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Any finite JSON value. Floats are never NaN or infinite, integers at most 2**63 in size; dates are strings."""

JsonObject: TypeAlias = Mapping[str, Json]
