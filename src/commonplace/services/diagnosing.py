"""What is wrong with an installation and the folders that it serves, for who asks why something does not work.

Each check is a function that yields what it found; the command `doctor` runs them all. What is wrong inside of
documents is the business of `checking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.schema import schema_problems
from commonplace.services.cataloguing import schema_of
from commonplace.services.collections import Collection
from commonplace.services.meaning import meaning_state


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that a check found."""

    check: str
    """A stable name: `plugin`, `schema`, `read_only`, `meaning`, `opening`."""
    severity: Severity
    subject: str
    """What it is about: a plugin's or a collection's name."""
    message: str
    hint: str
    """What to do about it."""


def plugins(set_aside: Iterable[tuple[str, str]]) -> Iterator[Trouble]:
    """Plugins that are installed and not used.

    Args:
        set_aside: Name and reason of each.
    """
    for name, reason in set_aside:
        hint = "Mend or update the package that names it, or uninstall it."
        yield Trouble("plugin", Severity.WARNING, name, f"The plugin is not used: {reason}", hint)


def collection(one: Collection) -> Iterator[Trouble]:
    """What keeps a collection from being served as its owner means it."""
    schema = schema_of(one)
    mend = "Mend the line; until then the folder is served without what could not be read."
    for finding in schema.findings:
        yield Trouble("schema", Severity.ERROR, one.name, finding.message, mend)
    for problem in schema_problems(schema):
        yield Trouble("schema", Severity.WARNING, one.name, problem, "Correct the declaration in kb.yaml.")
    if one.store.read_only_reason:
        message = f"Nothing can be written: {one.store.read_only_reason}."
        yield Trouble("read_only", Severity.INFO, one.name, message, "Change its permissions if it should be.")
    state = meaning_state(one)
    if state.status == "failing":
        hint = "Search goes by words until then."
        yield Trouble("meaning", Severity.WARNING, one.name, f"Search by meaning fails: {state.reason}", hint)


def opening(error: KnowledgeError) -> Trouble:
    """Why the folders cannot be opened."""
    return Trouble("opening", Severity.ERROR, error.kind, str(error), error.hint)
