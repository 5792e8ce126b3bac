"""What plugins add to the services: types, relations, validators, and hooks round every write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.domain.json import Json, JsonObject

if TYPE_CHECKING:  # a server answers its client before it loads them
    from commonplace.domain.documents import Document
    from commonplace.domain.schema import EntryType
    from commonplace.domain.validation import Violation
    from commonplace.services.deadline import Deadline

DEFAULT_TYPE = "note"
"""The type of an entry that states none."""

HookPoint: TypeAlias = Literal["before_save", "after_save", "before_delete", "after_delete", "before_index"]
Operation: TypeAlias = Literal["create", "update", "delete", ""]
Hook: TypeAlias = "Callable[[JsonObject, Deadline | None, str], None]"
"""Given the entry (its fields, `id`, `kb_name`, `entry_type`, `body`), where the write is done until when its answer
may wait, and the operation. What a before-hook raises stops the write."""
Validator: TypeAlias = "Callable[[str, JsonObject, str], Sequence[Violation]]"
"""Given an entry's type, its fields, and the name of its base."""
Supplement: TypeAlias = Callable[[str], JsonObject]
"""Given the name of a base, what an orientation in it holds besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """All that the loaded plugins add."""

    types: Mapping[str, EntryType] = field(default_factory=dict[str, "EntryType"])
    relations: tuple[tuple[str, str], ...] = ()
    """Relation and inverse."""
    validators: tuple[Validator, ...] = ()
    hooks: Mapping[HookPoint, tuple[Hook, ...]] = field(default_factory=dict[HookPoint, tuple[Hook, ...]])
    supplements: tuple[Supplement, ...] = ()
    presets: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Whole `kb.yaml` files as objects, by name, that a schema can begin with."""

    def run_hooks(
        self, moment: HookPoint, entry: JsonObject, answer_by: Deadline | None = None, operation: Operation = ""
    ) -> None:
        """Call the hooks of a moment, in the order of the plugins.

        Args:
            moment: Which.
            entry: What is written or deleted.
            answer_by: After a write, until when its answer may wait for the hooks.
            operation: What kind of write it is, where that is known.

        Raises:
            InvalidInputError: kind "hook": a hook before a write refused it.
        """
        for hook in self.hooks.get(moment, ()):
            hook(entry, answer_by, operation)

    def violations(self, entry_type: str, values: JsonObject, collection: str) -> list[Violation]:
        """What the plugins' validators find in an entry of a collection, named."""
        return [found for validator in self.validators for found in validator(entry_type, values, collection)]

    def supplement(self, name: str) -> dict[str, Json]:
        """What the plugins add to the orientation in a base."""
        return {key: value for supplement in self.supplements for key, value in supplement(name).items()}


NO_EXTENSIONS = Extensions()


def type_of(values: JsonObject) -> str:
    """The type that frontmatter states, or the usual one."""
    named = values.get("type") or values.get("category")
    return named if isinstance(named, str) else DEFAULT_TYPE


def entry_fields(collection: str, document: Document) -> dict[str, Json]:
    """An entry as plugins are given it.

    Args:
        collection: The collection's name.
        document: The entry.
    """
    values = document.frontmatter.values
    identifier = values.get("id")
    return {
        **values,
        "id": identifier if isinstance(identifier, str) else document.address.id,
        "kb_name": collection,
        "entry_type": type_of(values),
        "title": document.title,
        "tags": list(document.tags),
        "file_path": document.address.path,
        "body": document.raw[document.body_start :].decode("utf-8", "replace"),
    }
