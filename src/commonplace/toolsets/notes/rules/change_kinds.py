"""The kinds of change of `edit`. A separate module, because a server lists its tools before it imports rules."""

from __future__ import annotations

from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal[
    "section", "append", "insert", "replace", "fields", "block", "task", "supersede", "reviewed"
]
