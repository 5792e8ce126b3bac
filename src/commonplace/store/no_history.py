"""The history of a folder without Git: empty."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit, CommitSpan, Revision
from commonplace.domain.errors import NotFoundError


class NoHistory:
    """`domain.ports.History` of a folder without Git: empty."""

    @property
    def available(self) -> bool:
        """Return false."""
        return False

    def log(self, address: Address | None, *, limit: int, offset: int = 0) -> list[Commit]:
        """No commits."""
        del address, limit, offset
        return []

    def count(self) -> int:
        """0."""
        return 0

    def versions(self, address: Address) -> Iterator[tuple[Commit, bytes]]:
        """No commits."""
        del address
        return iter(())

    def read(self, address: Address, revision: str) -> bytes:
        """Raises NotFoundError: there are no versions."""
        del revision
        raise _without_history(address)

    def diff(self, address: Address, old: str, new: str = "") -> str:
        """Raises NotFoundError: there are no versions."""
        del old, new
        raise _without_history(address)

    def touched(self, addresses: Collection[Address] | None = None) -> dict[Address, CommitSpan]:
        """An empty dict."""
        del addresses
        return {}

    def touched_since(self, commit: str) -> set[Address] | None:
        """None: there are no commits."""
        del commit
        return None

    def address_at(self, address: Address, commit: str) -> Address | None:
        """None: there are no commits."""
        del address, commit

    def renames(self, commit: str) -> Mapping[Address, Address]:
        """An empty dict."""
        del commit
        return {}

    def changed(self, commit: str) -> Mapping[Address, tuple[bytes | None, bytes | None]]:
        """Raises NotFoundError: there are no commits."""
        raise NotFoundError(
            f"There is no commit {commit[:64]!r}: the folder is not in a Git repository.", kind="revision"
        )

    def uncommitted(self, revisions: Mapping[Address, Revision]) -> set[Address]:
        """All documents, because there are no commits."""
        return set(revisions)

    def moved(self, addresses: Collection[Address]) -> Mapping[Address, Address]:
        """No renames."""
        del addresses
        return {}

    def deleted(self, addresses: Collection[Address]) -> set[Address]:
        """An empty set: there is no commit."""
        del addresses
        return set()

    def head(self) -> str:
        """An empty string: there is no commit."""
        return ""


def _without_history(address: Address) -> NotFoundError:
    return NotFoundError(
        f"{address} has no earlier versions: its folder is not in a Git repository.",
        kind="revision",
        hint="Run git init in the folder to have a history from now on.",
        path=address.path,
    )
