"""The tools of the `kb` toolset that administer bases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import GitError, InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.ports import Repository
from commonplace.domain.schema_problems import schema_problems
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.services.collections import Collection
from commonplace.services.typed_entries import current_schema, schema_findings
from commonplace.toolsets.kb.mcp.json_output import show_types
from commonplace.toolsets.kb.mcp.overview import show_collection
from commonplace.toolsets.kb.mcp.parameters import KbCommit, KbIndexSync, KbManage, KbPush
from commonplace.toolsets.kb.service import schema_changes

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
    schema_changes.add_type(collection, name, _required(arguments.type_def, "type_def"))
    return {"added": True, "type_name": name, "kb_name": collection.name}


def _remove_type(call: Call, arguments: KbManage) -> JsonObject:
    collection, name = _chosen(call, arguments), _required(arguments.type_name, "type_name")
    schema_changes.remove_type(collection, name)
    return {"removed": True, "type_name": name, "kb_name": collection.name}


def _set_schema(call: Call, arguments: KbManage) -> JsonObject:
    collection = _chosen(call, arguments)
    schema = schema_changes.set_schema(collection, _required(arguments.schema_, "schema"))
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
