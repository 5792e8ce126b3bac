"""The kinds of change that one `edit` makes; a module of its own, as a server lists its tools before it loads rules."""

from __future__ import annotations

from typing import Literal, TypeAlias

ChangeKind: TypeAlias = Literal["section", "append", "insert", "replace", "fields", "block", "task"]
