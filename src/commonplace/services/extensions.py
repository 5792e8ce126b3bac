"""Additions of plugins to the services: types, relations, validators, and hooks of writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from commonplace.domain.json import Json, JsonObject

if TYPE_CHECKING:
    from commonplace.domain.documents import Document
    from commonplace.domain.schema import EntryType
    from commonplace.domain.validation import Violation


DEFAULT_TYPE = "note"
"""Type of an entry that has no type."""

HookPoint: TypeAlias = Literal["before_save", "after_save", "before_delete", "after_delete", "before_index"]
Operation: TypeAlias = Literal["create", "update", "delete", ""]
Hook: TypeAlias = "Callable[[JsonObject, Deadline | None, str], None]"
"""Called with the entry (its fields, `id`, `kb_name`, `entry_type`, `body`), a deadline and the operation.

The deadline limits how long the answer to a write waits for the hook. An exception of a before-hook prevents the write.
"""
Validator: TypeAlias = "Callable[[str, JsonObject, str], Sequence[Violation]]"
"""Called with an entry's type, its fields, and the name of its base."""
Supplement: TypeAlias = Callable[[str, str], JsonObject]
"""Called with the name and type of a base; returns additions to its orientation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """The additions of all loaded plugins."""

    types: Mapping[str, EntryType] = field(default_factory=dict[str, "EntryType"])
    relations: tuple[tuple[str, str], ...] = ()
    """Relations, each with its inverse."""
    validators: tuple[Validator, ...] = ()
    hooks: Mapping[HookPoint, tuple[Hook, ...]] = field(default_factory=dict[HookPoint, tuple[Hook, ...]])
    supplements: tuple[Supplement, ...] = ()
    presets: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Whole `kb.yaml` files as objects, by name, as templates of a schema."""

    def run_hooks(
        self, moment: HookPoint, entry: JsonObject, answer_by: Deadline | None = None, operation: Operation = ""
    ) -> None:
        """Call the hooks of a hook point, in the order of the plugins.

        Args:
            moment: The hook point.
            entry: The entry that is written or deleted.
            answer_by: After a write, the deadline until which the answer may wait for the hooks.
            operation: The kind of the write, if known.

        Raises:
            InvalidInputError: kind "hook": a before-hook rejected the write.
        """
        for hook in self.hooks.get(moment, ()):
            hook(entry, answer_by, operation)

    def violations(self, entry_type: str, values: JsonObject, collection: str) -> list[Violation]:
        """Violations that the plugins' validators find in an entry of a collection."""
        return [violation for validator in self.validators for violation in validator(entry_type, values, collection)]

    def supplement(self, name: str, kb_type: str) -> dict[str, Json]:
        """The plugins' additions to the orientation in a base of a type."""
        return {key: value for supplement in self.supplements for key, value in supplement(name, kb_type).items()}


NO_EXTENSIONS = Extensions()


def type_of(values: JsonObject) -> str:
    """The type in a frontmatter, as in records and lists; `DEFAULT_TYPE` if there is none."""
    from commonplace.domain.records import type_in  # noqa: PLC0415 - a server answers its client before

    return type_in(values) or DEFAULT_TYPE


def entry_fields(collection: str, document: Document) -> dict[str, Json]:
    """An entry in the form that plugins receive.

    Args:
        collection: Name of the collection.
        document: The entry.
    """
    from commonplace.domain.records import identifier_of  # noqa: PLC0415 - a server answers its client before

    values = document.frontmatter.values
    return {
        **values,
        "id": identifier_of(document),
        "kb_name": collection,
        "entry_type": type_of(values),
        "title": document.title,
        "tags": list(document.tags),
        "file_path": document.address.path,
        "body": document.body,
    }


# Time limits for work after a write that must not delay the answer.


log = logging.getLogger(__name__)

AFTER_WRITE = 0.1
"""Maximum time in seconds by which later steps delay the acknowledgement of a durable write."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time until which an answer may wait."""

    at: float
    """Time of `time.monotonic`."""

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 if it has passed."""
        return max(self.at - time.monotonic(), 0.0)

    def within(self, work: Callable[[], T], what: str) -> T | None:
        """The result of `work`; None if it fails (the error is logged) or times out (it continues in its thread).

        Args:
            work: The work, run in a separate thread.
            what: Description of the work, for the log.
        """
        executor = ThreadPoolExecutor(1, thread_name_prefix="deadline")
        future = executor.submit(work)
        executor.shutdown(wait=False)
        if wait((future,), self.left).not_done:
            log.info("%s takes longer than an answer may wait", what)
            return None
        if error := future.exception():
            log.warning("%s failed: %s: %s", what, type(error).__name__, error)
            return None
        return future.result()


PASSED = Deadline(0.0)
"""A deadline that has passed."""


def after_write() -> Deadline:
    """The deadline for the steps after a write that is durable now."""
    return Deadline(time.monotonic() + AFTER_WRITE)
