"""The documents that differ between two commits of a replica's branch."""

from __future__ import annotations

import os

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import InvalidInputError
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees.tree_diff import TreeDiff

MAX_CHANGED = 100
"""Maximum number of documents that are indexed one by one."""


def changed_documents(repository: GitRepository, old: str, new: str) -> list[Address] | None:
    """The documents that differ between two commits.

    Returns:
        The documents; None if there are more than `MAX_CHANGED`, or if another file differs. An ignore file or a site's
        configuration affects unchanged documents, and an attachment affects the targets of their links.

    Raises:
        GitError: the repository lacks a part of a commit.
    """
    trees = repository.tree_of(old), repository.tree_of(new)
    found: list[Address] = []
    for raw in TreeDiff(repository).differing(*trees):
        try:
            address = parse_address(os.fsdecode(raw))
        except InvalidInputError:
            return None
        if not address.is_document or len(found) == MAX_CHANGED:
            return None
        found.append(address)
    return found
