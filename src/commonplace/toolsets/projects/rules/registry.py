"""`index.json`: the folder of each project. Ids are stored verbatim; unknown keys are preserved."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from commonplace.domain.json import Json

INDEX_FILE = "index.json"
PROJECTS_KEY = "projects"
IGNORE_FILE = ".gitignore"
ACTIVITY_FILE = "activity.log"
"""The log of calls; never committed."""
_TODO_INDEX = re.compile(rf"{PROJECTS_KEY}/[^/]+/TODO/[^/]+/{re.escape(INDEX_FILE)}")
_FOLDER = re.compile(r"[^/\\\x00-\x1f.\s][^/\\\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class Registry:
    """The projects by id, in file order."""

    folders: Mapping[str, str]
    others: Mapping[str, Json]
    """Unknown keys of the file."""

    def with_project(self, project_id: str, folder: str) -> Registry:
        """The registry with one more project."""
        return Registry({**self.folders, project_id: folder}, self.others)

    def without(self, project_id: str) -> Registry:
        """The registry without a project."""
        return Registry({key: value for key, value in self.folders.items() if key != project_id}, self.others)

    @property
    def content(self) -> bytes:
        """The file's bytes."""
        shown = {**self.others, PROJECTS_KEY: dict(self.folders)}
        return (json.dumps(shown, ensure_ascii=False, indent=2) + "\n").encode()


EMPTY_REGISTRY = Registry({}, {})


def is_stored(path: str) -> bool:
    """Whether a file is always committed: the index of the store, and the files of projects.

    Args:
        path: Path from the root of the store, with `/`.
    """
    if path == INDEX_FILE:
        return True
    return is_in_project(path) and (path.endswith(".md") or _TODO_INDEX.fullmatch(path) is not None)


def is_in_project(path: str) -> bool:
    """Whether a file is in a project's folder, and neither the file nor a folder above it is hidden."""
    first, *parts = path.split("/")
    return first == PROJECTS_KEY and not any(part.startswith(".") for part in parts)


def ignores_log(ignore_file: bytes) -> bool:
    """Whether an ignore file excludes the log of calls, as every store's ignore file does."""
    return any(line.strip().lstrip(b"/") == ACTIVITY_FILE.encode() for line in ignore_file.splitlines())


def read_registry(raw: bytes) -> Registry | None:
    """Parse the file; None if it is damaged."""
    try:
        value = cast("object", json.loads(raw.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    content = cast("dict[str, Json]", value)
    projects = content.get(PROJECTS_KEY)
    if not isinstance(projects, dict) or not all(_is_folder(folder) for folder in projects.values()):
        return None
    folders = {key: str(folder) for key, folder in projects.items()}
    return Registry(folders, {key: element for key, element in content.items() if key != PROJECTS_KEY})


def merge_registries(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The projects of both sides; None if one id or folder is used for different projects, or a side is damaged."""
    before, mine, other = read_registry(base) or EMPTY_REGISTRY, read_registry(ours), read_registry(theirs)
    if mine is None or other is None:
        return None
    merged = dict(mine.folders)
    for project_id in {**before.folders, **other.folders}:
        was, now = before.folders.get(project_id), other.folders.get(project_id)
        if was == now:
            continue
        if mine.folders.get(project_id) not in {was, now}:
            return None
        if now is None:
            merged.pop(project_id, None)
        else:
            merged[project_id] = now
    if len(set(merged.values())) < len(merged):
        return None
    return Registry(merged, {**other.others, **mine.others}).content


def _is_folder(value: Json) -> bool:
    return isinstance(value, str) and _FOLDER.fullmatch(value) is not None
