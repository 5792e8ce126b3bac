"""Data derived from the files of a collection: a catalogue in SQLite and a full text in Tantivy.

Both may be deleted at any time and are rebuilt from the files.
"""

from __future__ import annotations

from commonplace.index.index_version import INDEX_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.domain.markdown.link_sides import PageSide
    from commonplace.domain.ports import Store
    from commonplace.index.local import LocalIndex
    from commonplace.index.opensearch.writer import SearchCluster
    from commonplace.index.past import IndexedPast, IndexedProposals


def open_index(
    store: Store,
    cache_dir: Path,
    link_roots: Sequence[str] = (),
    language: str = "en",
    side: PageSide | None = None,
    in_title_case: Callable[[], bool] = bool,
) -> LocalIndex:
    """Open the index of a store's folder; create it if there is none.

    Args:
        store: The files.
        cache_dir: Folder of the indexes.
        link_roots: The setting `link_roots`: `URL=FOLDER` each.
        language: The reader's language; search ranks the translation in this language before the others.
        side: The side of `[[a|b]]` that is the page; None for the side that exists.
        in_title_case: Whether titles that are names of files are shown in title case.

    Raises:
        ValueError: one of the link roots is not of the form `URL=FOLDER`.
    """
    from commonplace.domain.markdown.link_sides import PageSide  # noqa: PLC0415 - as below
    from commonplace.index.local import LocalIndex  # noqa: PLC0415 - shell completion needs none of them
    from commonplace.index.other_versions import remove_unused_versions  # noqa: PLC0415 - as above

    folder = cache_dir / store.identity / INDEX_FOLDER
    remove_unused_versions(folder)
    return LocalIndex(store, folder, link_roots, language, side or PageSide.EXISTING, in_title_case)


def open_cluster(
    urls: Sequence[str], prefix: str, user: str = "", password: str = "", authority: Path | None = None
) -> SearchCluster:
    """Open a search cluster that several servers share. Sends no request yet.

    Args:
        urls: `http` or `https` URLs of the cluster's nodes.
        prefix: Prefix of the names of all indexes.
        user: The user; "" if the cluster needs none.
        password: The user's password.
        authority: File with the certificates of the cluster's authority; None for the authorities of the system.

    Raises:
        ConfigError: kind "engine": an argument is invalid, or the client is not installed.
    """
    from commonplace.index.opensearch.connection import ClusterAddress  # noqa: PLC0415 - optional
    from commonplace.index.opensearch.writer import SearchCluster  # noqa: PLC0415 - optional

    return SearchCluster(ClusterAddress(tuple(urls), user, password, authority), prefix)


def open_past(
    store: Store, cache_dir: Path, side: PageSide | None = None, in_title_case: Callable[[], bool] = bool
) -> IndexedPast | None:
    """The past states of a store's folder; None without commits. Each state is opened on first use.

    Args:
        store: The files.
        cache_dir: Folder of the indexes.
        side: The side of `[[a|b]]` that is the page; None for the side that exists.
        in_title_case: Whether titles that are names of files are shown in title case.
    """
    from commonplace.domain.markdown.link_sides import PageSide  # noqa: PLC0415 - as below
    from commonplace.domain.past import StoreWithPast  # noqa: PLC0415 - as below

    if not isinstance(store, StoreWithPast) or store.past is None:
        return None
    from commonplace.index.past import IndexedPast  # noqa: PLC0415 - shell completion needs none of them

    live = cache_dir / store.identity / INDEX_FOLDER
    return IndexedPast(store.past, live, live / "past", side or PageSide.EXISTING, in_title_case)


def open_proposals(
    store: Store, live: LocalIndex, cache_dir: Path, new_index: Callable[[Store, Path], LocalIndex]
) -> IndexedProposals | None:
    """The proposals to change a store's folder; None without Git. Each index is opened on first use.

    Args:
        store: The files.
        live: Their index.
        cache_dir: Folder of the indexes.
        new_index: Opens the index of a store in a folder.
    """
    from commonplace.domain.proposals import StoreWithProposals  # noqa: PLC0415 - as below

    branches = store.proposals if isinstance(store, StoreWithProposals) else None
    if branches is None:
        return None
    from commonplace.index.past import IndexedProposals  # noqa: PLC0415 - shell completion needs none of them

    place = cache_dir / store.identity / INDEX_FOLDER
    return IndexedProposals(branches, live, place, place / "proposals", new_index)
