"""The page of a typed base: its types with their fields, its guidelines and its rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.domain.errors import NotFoundError
from commonplace.domain.json import Json
from commonplace.domain.schema import CORE_TYPES, FieldRule, Schema
from commonplace.domain.schema_problems import schema_problems
from commonplace.faces.web.exchange import CardRow, PageRequest, PageResponse, ToolsetPages
from commonplace.faces.web.pages import page
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.findings import page_issues
from commonplace.services.site.overview import OVERVIEWS
from commonplace.services.typed_entries import current_schema

TYPE_RULES = frozenset({"schema_violation", "rubric_violation", "event_missing_date", "importance_range", "stale"})
"""Rules of a typed base whose violations are shown on the page."""


def is_typed(candidate: Schema) -> bool:
    """Whether a base declares more than the defaults."""
    declared = candidate.declares_types or candidate.evaluation_rubric or candidate.guidelines or candidate.goals
    return bool(declared or candidate.description or candidate.policies or candidate.rules or candidate.findings)


def schema(request: PageRequest) -> PageResponse:
    """The declarations in a base's `kb.yaml`."""
    collection, _ = request.located()
    found_schema = current_schema(collection)
    if not is_typed(found_schema):
        raise NotFoundError(f"{collection.name} declares no types.", kind="schema", hint="A kb.yaml declares them.")
    counts = dict(OVERVIEWS.of(collection).counts.types)
    declared = [
        entry_type for entry_type in found_schema.types.values() if CORE_TYPES.get(entry_type.name) is not entry_type
    ]
    core = [entry_type for entry_type in found_schema.types.values() if CORE_TYPES.get(entry_type.name) is entry_type]
    return page(
        request,
        "schema.html",
        collection=collection,
        schema=found_schema,
        declared=declared,
        core=core,
        counts=counts,
        guidelines=lines_of(found_schema.guidelines),
        goals=lines_of(found_schema.goals),
        policies=[(name, " ".join(lines_of(value))) for name, value in found_schema.policies.items()],
        problems=[*(finding.message for finding in found_schema.findings), *schema_problems(found_schema).wrong],
        rule_text=rule_text,
    )


def about(request: PageRequest, collection: Collection) -> Sequence[CardRow]:
    """Row on the home page: the description of a typed base, and a link to its types."""
    found_schema = current_schema(collection)
    if not is_typed(found_schema):
        return ()
    name = "Its types and its rubric" if found_schema.evaluation_rubric else "Its types"
    return (CardRow(name, request.urls.view("schema", collection.name, ""), found_schema.description),)


def notes(request: PageRequest, document: FoundDocument) -> Sequence[CardRow]:
    """Row on a page of a typed base: its violations of the type or the rubric."""
    if not is_typed(current_schema(document.collection)):
        return ()
    issues = page_issues(request.collections, document.collection, document.record)
    breaches = tuple(issue.message for issue in issues if issue.rule in TYPE_RULES)
    if not breaches:
        return ()
    differs = "1 thing differs" if len(breaches) == 1 else f"{len(breaches)} things differ"
    url = request.urls.view("schema", document.collection.name, "")
    return (CardRow("this base asks", url, f"{differs} from what", breaches),)


def rule_text(rule: FieldRule) -> str:
    """A rule of a field on one line."""
    parts = [rule.type if rule.type != "object-ref" else f"reference to {' or '.join(rule.target_types) or 'an entry'}"]
    if rule.options:
        parts.append(f"one of {', '.join(rule.options)}")
    if rule.min is not None:
        parts.append(f"from {rule.min:g}")
    if rule.max is not None:
        parts.append(f"to {rule.max:g}")
    if rule.format:
        parts.append(f"like {rule.format}")
    if rule.default is not None:
        parts.append(f"usually {' '.join(lines_of(rule.default))}")
    return ", ".join(parts)


def lines_of(value: Json) -> list[str]:
    """A declared value of any shape as lines of text."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [f"{key}: {' '.join(lines_of(element))}" for key, element in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [line for element in value for line in lines_of(element)]
    return [line for line in str(value).splitlines() if line.strip()]


KB_PAGES = ToolsetPages(
    views={"schema": schema},
    templates=Path(__file__).parent / "templates",
    about=about,
    notes=notes,
    confined=True,
)
"""The web pages of a typed base."""
