"""The tools of the `kb` toolset about whole bases: lists, totals, schemas, orientation, quality, administration."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from commonplace.domain.addresses import parse_address
from commonplace.domain.documents import Severity
from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.domain.findings import SEVERITIES
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.ports import Repository
from commonplace.domain.query import ListQuery
from commonplace.domain.schema import Schema
from commonplace.domain.schema_problems import schema_problems
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.services import findings, listing
from commonplace.services.checks import history_gaps
from commonplace.services.collections import Collection, find_document
from commonplace.services.extensions import DEFAULT_TYPE
from commonplace.services.findings import Issue
from commonplace.services.links import RELATIONS
from commonplace.services.typed_entries import current_schema, schema_findings
from commonplace.toolsets.kb import service
from commonplace.toolsets.kb.mcp.json_output import (
    selected,
    show_issue,
    show_row,
    show_types,
    slice_of,
    without_empty,
)
from commonplace.toolsets.kb.mcp.parameters import (
    KbCommit,
    KbIndexSync,
    KbList,
    KbManage,
    KbOrient,
    KbPush,
    KbQaStatus,
    KbQaValidate,
    KbSchema,
    KbStats,
    KbTags,
)
from commonplace.toolsets.kb.service import AssessmentCoverage, KeptAssessment

TOP_TAGS = 10
"""Maximum number of tags in an orientation."""
SHOWN_ASSESSMENTS = 10
"""Maximum number of assessments in the status, newest first."""


def kb_list(call: Call, _: KbList) -> ToolResult:
    """Every knowledge base."""
    return {"knowledge_bases": [show_collection(collection) for collection in call.services.collections]}


def kb_tags(call: Call, arguments: KbTags) -> ToolResult:
    """Tags with their counts, flat or as a tree."""
    counts = listing.list_tags(call.services.collections.select(arguments.kb_name), prefix=arguments.prefix or "")
    if arguments.tree:
        return {"tree": _tree(counts)}
    page, more = slice_of(counts, arguments.offset, arguments.limit)
    return {"tag_count": len(counts), "has_more": more, "tags": [{"tag": tag, "count": count} for tag, count in page]}


def kb_stats(call: Call, _: KbStats) -> ToolResult:
    """Totals of all bases."""
    kbs: dict[str, Json] = {}
    types: Counter[str] = Counter()
    tags = {tag for tag, _count in listing.list_tags(call.services.collections.members)}
    for collection in call.services.collections:
        counts = collection.index.counts()
        own = _type_counts(counts.types)
        types.update(own)
        kbs[collection.name] = {
            "entry_count": counts.documents,
            "section_count": counts.sections,
            "link_count": counts.links,
            "tag_count": counts.tags,
            "type_counts": dict(own),
        }
    totals = [collection.index.counts() for collection in call.services.collections]
    return {
        "kbs": kbs,
        "total_entries": sum(counts.documents for counts in totals),
        "total_tags": len(tags),
        "total_links": sum(counts.links for counts in totals),
        "type_counts": _show_counts(types),
    }


def kb_schema(call: Call, arguments: KbSchema) -> ToolResult:
    """The declarations of a base."""
    collection = call.services.collections.get(arguments.kb_name)
    schema = current_schema(collection)
    values = schema.values or {}
    relations = {**dict(RELATIONS), **dict(collection.extensions.relations)}
    declared = values.get("relationship_types")
    shown: dict[str, Json] = {
        "types": show_types(schema),
        "guidelines": schema.guidelines or {},
        "goals": schema.goals,
        "evaluation_rubric": values.get("evaluation_rubric") or [],
        "policies": schema.policies,
        "validation": values.get("validation"),
        "relationship_types": {**relations, **(declared if isinstance(declared, Mapping) else {})},
        "problems": list(schema_findings(schema)),
    }
    return without_empty(shown, ("types", "guidelines", "evaluation_rubric", "relationship_types"))


def kb_orient(call: Call, arguments: KbOrient) -> ToolResult:
    """Everything that an agent needs to start work on a base."""
    collection = call.services.collections.get(arguments.kb_name)
    schema = current_schema(collection)
    counts = collection.index.counts()
    recent = listing.list_documents(
        (collection,), ListQuery(sort="updated", descending=True, limit=max(1, arguments.recent_limit))
    ).found[: arguments.recent_limit]
    tags = listing.list_tags((collection,))[:TOP_TAGS]
    return {
        "kb": collection.name,
        "description": schema.description or None,
        "kb_type": schema.kb_type or "generic",
        "read_only": bool(collection.store.read_only_reason) or call.tier == "read",
        "guidelines": schema.guidelines or {},
        "total_entries": counts.documents,
        "types": [{"type": name, "count": count} for name, count in _type_counts(counts.types).most_common()],
        "top_tags": [{"name": tag, "count": count} for tag, count in tags],
        "recent": [
            selected(show_row(document), ("title", "entry_type", "updated_at", "summary")) for document in recent
        ],
        "schema": {"types": show_types(schema)},
        **_problems(schema),
        **collection.extensions.supplement(collection.name, schema.kb_type or "generic"),
    }


def _problems(schema: Schema) -> dict[str, Json]:
    """The findings about `kb.yaml`; {} if the file is valid."""
    return {"problems": list(schema_findings(schema))} if schema.findings else {}


def kb_qa_validate(call: Call, arguments: KbQaValidate) -> ToolResult:
    """Findings, most severe first."""
    collections = call.services.collections
    if arguments.entry_id:
        document = find_document(collections, arguments.entry_id, arguments.kb_name)
        issues = findings.page_issues(collections, document.collection, document.record, strict=True)
    else:
        issues = _all_issues(call, collections.select(arguments.kb_name))
    leasts = findings.at_least(issues, Severity(arguments.severity))
    page, more = slice_of(leasts, arguments.offset, arguments.limit)
    shown: list[Json] = [show_issue(issue) for issue in page]
    notice = _gap_notice(collections.select(arguments.kb_name))
    return {"issues": shown, "count": len(leasts), "truncated": more, "has_more": more, **notice}


def kb_qa_status(call: Call, arguments: KbQaStatus) -> ToolResult:
    """Number of issues by severity and rule, and the coverage of assessments."""
    chosen = call.services.collections.select(arguments.kb_name)
    issues = _all_issues(call, chosen)
    severities = Counter(issue.severity.value for issue in issues)
    covered = [service.coverage(collection) for collection in chosen]
    collections = [(collection, assessment) for collection in chosen for assessment in service.history(collection)]
    collections.sort(key=lambda pair: pair[1].assessed_at, reverse=True)
    return {
        "total_entries": sum(collection.index.counts().documents for collection in chosen),
        "total_issues": len(issues),
        "issues_by_severity": {severity.value: severities[severity.value] for severity in SEVERITIES},
        "issues_by_rule": dict(Counter(issue.rule for issue in issues).most_common()),
        "coverage": _show_coverage(covered),
        "assessments": [
            _show_kept(collection, assessment) for collection, assessment in collections[:SHOWN_ASSESSMENTS]
        ],
        **_gap_notice(chosen),
    }


def _gap_notice(chosen: Sequence[Collection]) -> JsonObject:
    """The notice on what the checks cannot tell; nothing if they can tell everything."""
    gaps = history_gaps(chosen)
    return {"notice": " ".join(gaps)} if gaps else {}


def _show_kept(collection: Collection, assessment: KeptAssessment) -> JsonObject:
    return {
        "assessment_id": assessment.id,
        "target_entry": assessment.target,
        "kb_name": collection.name,
        "qa_status": assessment.status,
        "issues_found": assessment.issues_found,
        "assessed_at": assessment.assessed_at,
    }


def _show_coverage(covered: Sequence[AssessmentCoverage]) -> JsonObject:
    total = sum(coverage.total for coverage in covered)
    assessed = sum(coverage.assessed for coverage in covered)
    return {
        "total": total,
        "assessed": assessed,
        "unassessed": total - assessed,
        "coverage_pct": round(100 * assessed / total, 1) if total else 0.0,
        "by_status": {status: sum(item.by_status[status] for item in covered) for status in service.STATUSES},
    }


def show_collection(collection: Collection) -> JsonObject:
    """A base as shown in lists; `path` is the name of its folder."""
    schema = current_schema(collection)
    return {
        "name": collection.name,
        "type": schema.kb_type or "generic",
        "path": collection.store.name,
        "description": schema.description or None,
        "entry_count": collection.index.counts().documents,
        "read_only": bool(collection.store.read_only_reason),
        "source": "local",
        **_problems(schema),
    }


def _tree(counts: Sequence[tuple[str, int]]) -> list[Json]:
    """Tags nested at their slashes. A parent that no entry has counts 0."""
    nodes: dict[str, dict[str, Json]] = {}
    children: dict[str, list[Json]] = {"": []}
    for tag, count in sorted(counts):
        parts = tag.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path not in nodes:
                children[path] = []
                nodes[path] = {"name": parts[depth - 1], "full_path": path, "count": 0, "children": children[path]}
                children["/".join(parts[: depth - 1])].append(nodes[path])
        nodes[tag]["count"] = count
    return children[""]


def _type_counts(types: Sequence[tuple[str, int]]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for name, count in types:
        counted[name or DEFAULT_TYPE] += count
    return counted


def _show_counts(counted: Counter[str]) -> list[Json]:
    return [{"entry_type": name, "count": count} for name, count in counted.most_common()]


def _all_issues(call: Call, chosen: Sequence[Collection]) -> list[Issue]:
    collections = call.services.collections
    return [
        issue
        for collection in chosen
        for issue in findings.collection_issues(collections, collection, call.progress, strict=True)
    ]


# The tools of the `kb` toolset that administer bases.


T = TypeVar("T")


def kb_index_sync(call: Call, arguments: KbIndexSync) -> ToolResult:
    """Synchronize the index with the files of one base or all."""
    chosen = call.services.collections.select(arguments.kb_name)
    if arguments.background:
        threading.Thread(target=_sync_all, args=(chosen,), name="sync", daemon=True).start()
        return {"submitted": True}
    reports = [collection.index.sync(call.progress) for collection in chosen]
    return {
        "synced": True,
        "added": sum(report.added for report in reports),
        "updated": sum(report.updated for report in reports),
        "removed": sum(report.removed for report in reports),
    }


def kb_commit(call: Call, arguments: KbCommit) -> ToolResult:
    """Commit the files of one base, and no others."""
    collection = call.services.collections.get(arguments.kb)
    paths = None if arguments.paths is None else [parse_address(path) for path in arguments.paths]
    receipt = _repository(collection).commit(
        paths, arguments.message, sign_off=arguments.sign_off, progress=call.progress
    )
    files = sorted(address.path for address in {*receipt.revisions, *receipt.removed})
    return {
        "success": True,
        "commit_hash": receipt.commit,
        "files_changed": len(files),
        "files": files,
        "message": arguments.message,
    }


def kb_push(call: Call, arguments: KbPush) -> ToolResult:
    """Push a branch to a remote."""
    collection = call.services.collections.get(arguments.kb)
    call.progress(0, 1)
    said = _repository(collection).push(arguments.remote, arguments.branch or "")
    call.progress(1, 1)
    return {"success": True, "message": said}


def _repository(collection: Collection) -> Repository:
    repository = collection.store.repository
    if repository is None and collection.replica is not None:
        raise GitError(
            f"{collection.name!r} is a replica: each write is a commit, which its remote has already.",
            kind="repository",
            hint="Nothing is to be committed or pushed.",
        )
    if repository is None:
        raise GitError(
            f"{collection.name!r} is not in a Git repository.",
            kind="repository",
            hint="Run `git init` in its folder, or serve a folder that is in a repository.",
        )
    return repository


def kb_manage(call: Call, arguments: KbManage) -> ToolResult:
    """Run one of several actions on bases and their schema."""
    return _ACTIONS[arguments.action](call, arguments)


def _discover(call: Call, _: KbManage) -> JsonObject:
    shown = [show_collection(collection) for collection in call.services.collections]
    presets = {name: None for collection in call.services.collections for name in collection.extensions.presets}
    return {"discovered": len(shown), "kbs": shown} | ({"presets": list(presets)} if presets else {})


def _validate(call: Call, arguments: KbManage) -> JsonObject:
    return _judged(_chosen(call, arguments))


def _show_schema(call: Call, arguments: KbManage) -> JsonObject:
    collection = _chosen(call, arguments)
    schema = current_schema(collection)
    declared = (schema.values or {}).get("validation")
    return {
        "kb_name": collection.name,
        "types": show_types(schema),
        "policies": schema.policies,
        "validation": {
            **(declared if isinstance(declared, Mapping) else {}),
            "enforce": schema.enforce,
            "qa_on_write": schema.qa_on_write,
        },
        **({"problems": list(schema_findings(schema))} if schema.findings else {}),
    }


def _add_type(call: Call, arguments: KbManage) -> JsonObject:
    collection, name = _chosen(call, arguments), _required(arguments.type_name, "type_name")
    service.add_type(collection, name, _required(arguments.type_def, "type_def"))
    return {"added": True, "type_name": name, "kb_name": collection.name}


def _remove_type(call: Call, arguments: KbManage) -> JsonObject:
    collection, name = _chosen(call, arguments), _required(arguments.type_name, "type_name")
    service.remove_type(collection, name)
    return {"removed": True, "type_name": name, "kb_name": collection.name}


def _set_schema(call: Call, arguments: KbManage) -> JsonObject:
    collection = _chosen(call, arguments)
    schema = service.set_schema(collection, _required(arguments.schema_, "schema"))
    declared = [entry_type for entry_type in schema.types.values() if entry_type.declared is not None]
    return {"set": True, "kb_name": collection.name, "type_count": len(declared)}


_ACTIONS: Mapping[str, Callable[[Call, KbManage], JsonObject]] = {
    "discover": _discover,
    "validate": _validate,
    "show_schema": _show_schema,
    "add_type": _add_type,
    "remove_type": _remove_type,
    "set_schema": _set_schema,
}


def _judged(collection: Collection) -> JsonObject:
    schema = current_schema(collection)
    problems = schema_problems(schema)
    errors: list[Json] = [*schema_findings(schema), *problems.wrong]
    return {
        "valid": not errors,
        "errors": errors,
        "warnings": list(problems.not_understood),
        "types": list(schema.types),
    }


def _chosen(call: Call, arguments: KbManage) -> Collection:
    """The named base. The name may be omitted if there is only one base."""
    members = call.services.collections.members
    if arguments.kb_name is None and len(members) == 1:
        return members[0]
    return call.services.collections.get(_required(arguments.kb_name, "kb_name"))


def _required(value: T | None, name: str) -> T:
    """The value of an argument that the action requires.

    Raises:
        InvalidInputError: the argument is missing; context `missing` names it.
    """
    if value is None:
        raise InvalidInputError(f"Missing argument: {name}.", kind="argument", hint=f"Give {name}.", missing=[name])
    return value


def _sync_all(chosen: Sequence[Collection]) -> None:
    for collection in chosen:
        collection.index.sync()
