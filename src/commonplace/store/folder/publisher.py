"""Explicit commits and pushes: `domain.ports.Repository`."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pygit2.enums import FileStatus

from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.changes import Author, FileStat, Receipt, record_waiting_index
from commonplace.domain.errors import (
    GitError,
    ReadOnlyError,
    StorageError,
    UnavailableError,
)
from commonplace.domain.ports import Progress
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import SCHEMA_FILE
from commonplace.store.disk.file_swap import is_missing, storage_errors
from commonplace.store.disk.folder import Folder
from commonplace.store.folder.retention import Retention
from commonplace.store.folder.transaction_writer import INDEX_WAITS, TransactionWriter
from commonplace.store.folder.writer_lock import WAIT_SECONDS
from commonplace.store.git.commit_writer import GitWriter
from commonplace.store.git.commits import PlannedCommit, commit_message
from commonplace.store.git.objects import is_file
from commonplace.store.git.refs import set_ref
from commonplace.store.git.repository import GitRepository
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git.worktree import changed_files, stored_form
from commonplace.store.git_command import GitResult, TimeLimits, redacted
from commonplace.store.names import checked_ref, is_ref, missing_file
from commonplace.store.remotes import exchange

MAX_LISTED = 20
"""Maximum number of remotes that an error names."""
PUSH_TIMEOUT = 60.0
"""Timeout in seconds of a push."""
QUIET_SECONDS = 15.0
"""Timeout in seconds for a push without progress."""
log = logging.getLogger(__name__)

_AUTHENTICATION = re.compile(
    r"could not read (Username|Password)|Authentication failed|Permission denied|terminal prompts disabled"
    r"|Host key verification failed|error: 40[13]|access denied",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"Could not resolve|Connection (refused|reset|timed out)|timed out|Could ?n.t connect|Failed to connect"
    r"|Network is unreachable|No route to host|remote end hung up|error: 50[0234]",
    re.IGNORECASE,
)
_UNREACHED = re.compile(
    r"Could not resolve|Connection refused|Could ?n.t connect|Failed to connect|Network is unreachable"
    r"|No route to host|not allowed",
    re.IGNORECASE,
)
"""Git's messages for errors that occur before anything is sent."""
_ABSENT = re.compile(r"does not appear to be a git repository|[Rr]epository .*not found|error: 404")


class Publisher:
    """Explicit commits and pushes of one collection."""

    def __init__(
        self,
        folder: Folder,
        writer: TransactionWriter,
        git: GitWriter,
        prefix: str,
        hides: Callable[[Address], bool],
        retention: Retention,
    ) -> None:
        """Create a publisher.

        Args:
            folder: Folder of the collection.
            writer: Transaction writer of the repository.
            git: Git writer of the repository.
            prefix: Path from the repository's root to the folder: "" or a path with a trailing slash.
            hides: Whether a document is ignored in the collection.
            retention: Retains staged text that a commit replaces, if no other copy exists.
        """
        self._folder = folder
        self._hides = hides
        self._writer = writer
        self._git = git
        self._prefix = prefix
        self._retention = retention

    def commit(
        self,
        addresses: Sequence[Address] | None,
        message: str,
        *,
        author: Author | None = None,
        sign_off: bool = False,
        progress: Progress | None = None,
    ) -> Receipt:
        """Commit the current files of the collection. Other staged or changed files stay as they are."""
        self._require_committing()
        with storage_errors("the commit"), self._writer.lock.held(WAIT_SECONDS):
            self._writer.repair()
            files = self._dirty_contents(progress) if addresses is None else self._contents(addresses, progress)
            contents = {f"{self._prefix}{address.path}": content for address, (_, content) in files.items()}
            written = {f"{self._prefix}{address.path}": stat for address, (stat, _) in files.items() if stat}
            words = commit_message(self._git.repository, message, author, sign_off=sign_off)
            staged = self._writer.staged_blobs({path: content is None for path, content in contents.items()})
            with self._retention.kept([], staged, self._prefix):
                commit = self._writer.apply(
                    [], lambda token: self._git.plan(token, [PlannedCommit(contents, words)]), written
                )
            if self._writer.pending:
                record_waiting_index(INDEX_WAITS)
        if not commit:
            raise GitError(
                "There is nothing to commit: the files are the same as in the last commit.",
                kind="repository",
                hint="Write something first." if addresses else "Write something, or name other files in paths.",
            )
        return self._receipt(commit, {address: content for address, (_, content) in files.items()})

    def _require_committing(self) -> None:
        with storage_errors("the commit"):
            reason = self._git.refusal()
        if reason:
            raise ReadOnlyError(f"Nothing can be committed: {reason}.", kind="repository")

    def _receipt(self, commit: str, contents: Mapping[Address, bytes | None]) -> Receipt:
        """The receipt of a commit of these files, of which it may have changed only some."""
        try:
            changed = self._changed_by(commit)
        except GitError as error:  # the commit is made, even if its changes cannot be listed
            log.warning("the changes of a commit cannot be listed: %s", error)
            changed = set(contents)
        present = {address: content for address, content in contents.items() if address in changed}
        return Receipt(
            commit,
            {address: revision_of(content) for address, content in present.items() if content is not None},
            tuple(address for address, content in present.items() if content is None),
        )

    def push(self, remote: str = "origin", branch: str = "") -> str:
        """Push a branch ("" for the current one) to a configured remote. Returns one line that describes the result."""
        repository = self._git.repository
        self._require_remote(remote)
        reference = f"refs/heads/{branch}" if branch else repository.branch
        name = reference.removeprefix("refs/heads/")
        if not (reference and repository.tip(reference)):
            raise GitError(
                f"There is no branch {name!r} with a commit to push." if name else "The repository is on no branch.",
                kind="repository",
                hint="Name a branch that exists.",
            )
        commit = repository.tip(reference)
        with exchange(repository, remote, [commit]) as own:
            refspec, settings = f"{commit}:{checked_ref(reference)}", own_programs(repository)
            try:
                outcome = own.push(refspec, settings=settings, timeout=TimeLimits(PUSH_TIMEOUT, QUIET_SECONDS))
            except GitError as error:
                if error.kind != "timeout":
                    raise
                raise _unknown(error, remote, name) from error
        if outcome.code:
            raise _push_error(outcome, remote, name)
        tracked = f"refs/remotes/{remote}/{name}"
        if is_ref(tracked):
            with suppress(StorageError, UnavailableError):  # Git fetches the remote's state again anyway
                set_ref(repository.common, tracked, commit)
        done = "has it already" if "\t[up to date]" in outcome.output else "has it now"
        return f"{remote} {done}: {name} at {repository.tip(reference)[:8]}"

    def _dirty_contents(self, progress: Progress | None) -> dict[Address, tuple[FileStat | None, bytes | None]]:
        """The same as `_contents`, for all of the collection's files that differ from the last commit."""
        files = self._contents(self._dirty(), progress)
        return {address: file for address, file in files.items() if self._differs(address, file[1])}

    def _contents(
        self, addresses: Sequence[Address], progress: Progress | None
    ) -> dict[Address, tuple[FileStat | None, bytes | None]]:
        """Metadata and bytes of each file; None for a deleted one."""
        folders: dict[Address, tuple[FileStat | None, bytes | None]] = {}
        repository = self._git.repository
        for number, address in enumerate(addresses, 1):
            if self._folder.stat(address) is not None:
                folders[address] = self._folder.load(address)
            elif (entry := repository.entry(repository.head, f"{self._prefix}{address.path}")) and is_file(entry):
                folders[address] = None, None
            else:
                raise missing_file(address)
            if progress:
                progress(number, len(addresses))
        return folders

    def _dirty(self) -> list[Address]:
        """The collection's documents and its schema that differ from the last commit or the index.

        Other files in the folder are only committed if a caller names them. The same applies to existing files that the
        next commit is to remove (`git rm --cached`). Staged files that are gone have nothing to commit.
        """
        dirty = changed_files(self._git.repository, self._prefix, self._is_own)
        left = {True: FileStatus.INDEX_NEW, False: FileStatus.INDEX_DELETED}
        root = self._git.repository.root
        chosen = [path for path in sorted(dirty) if not dirty[path] & left[is_missing(root / path)]]
        addresses = (address for path in chosen if (address := address_or_none(path.removeprefix(self._prefix))))
        return [address for address in addresses if address.path == SCHEMA_FILE or not self._hides(address)]

    def _differs(self, address: Address, content: bytes | None) -> bool:
        """Whether a file differs from the last commit. Staged changes of an equal file stay staged."""
        repository = self._git.repository
        path = f"{self._prefix}{address.path}"
        entry = repository.entry(repository.head, path)
        if content is None or entry is None:
            return True
        return entry.id != revision_of(stored_form(repository, path, content))

    def _is_own(self, path: str) -> bool:
        """Whether a path below the prefix is that of a document or of the schema."""
        address = address_or_none(path.removeprefix(self._prefix))
        return address is not None and (address.path == SCHEMA_FILE or address.is_document)

    def _changed_by(self, commit: str) -> set[Address]:
        repository = self._git.repository
        found_commit = repository.commit(commit)
        before = repository.tree_of(str(next(iter(found_commit.parent_ids), "")))
        paths = map(os.fsdecode, TreeDiff(repository).differing(before, str(found_commit.tree_id)))
        inside = (path.removeprefix(self._prefix) for path in paths if path.startswith(self._prefix))
        return {address for path in inside if (address := address_or_none(path))}

    def _require_remote(self, remote: str) -> None:
        remotes = self._git.repository.remotes()
        if remote not in remotes:
            more = f" and {len(remotes) - MAX_LISTED:,} more" if len(remotes) > MAX_LISTED else ""
            listed = ", ".join(redacted(name)[:60] for name in remotes[:MAX_LISTED]) + more
            raise GitError(
                f"There is no remote {redacted(remote)[:60]!r}." + (f" There is: {listed}." if listed else ""),
                kind="repository",
                hint="Name one of them." if listed else "Add one with git remote add.",
            )


def own_programs(repository: GitRepository) -> dict[str, list[str]]:
    """Credential and SSH programs of the user's own configuration; the repository's configuration is ignored."""
    programs = {"credential.helper": ["", *repository.own_settings("credential.helper")]}
    ssh = repository.own_settings("core.sshcommand")
    return programs | ({"core.sshCommand": ssh[-1:]} if ssh else {})


def is_unreached(outcome: GitResult) -> bool:
    """Whether a failed push never reached the remote, so that nothing can have changed there."""
    said = outcome.errors + outcome.output
    return any(pattern.search(said) for pattern in (_UNREACHED, _AUTHENTICATION, _ABSENT))


def _unknown(error: GitError, remote: str, branch: str) -> GitError:
    """The error for a push that timed out: the remote may have accepted it without an answer."""
    return GitError(
        f"Whether {remote} has {branch} is unknown: {error}",
        kind="repository",
        hint=f"Call again: what {remote} has already is not sent twice. If it persists, check the network.",
        retryable=1,
    )


def _push_error(outcome: GitResult, remote: str, branch: str) -> GitError:
    """The error of a failed push, with the next step as its hint."""
    said = outcome.errors + outcome.output
    hint, retryable = "Run git push in a terminal to see more.", 0
    what = outcome.reason
    if "[rejected]" in said:
        what, hint = (
            "it has commits that are not here",
            "Fetch and merge or rebase them, then push again.",
        )
    elif outcome.rejection:
        what = outcome.rejection
        hint = "The remote's rules forbid it; ask its owner."
    elif _AUTHENTICATION.search(said):
        hint = (
            "Set up credentials that need no prompt: a credential helper in your own Git configuration, or an SSH key."
        )
    elif _NETWORK.search(said):
        hint, retryable = "Check the network and try again.", 1
    elif _ABSENT.search(said):
        hint = f"Check the address with git remote get-url {remote}."
    elif "not allowed" in said:
        hint = "Only file, http, https and ssh remotes are used."
    return GitError(f"{branch} was not pushed to {remote}: {what}.", kind="repository", hint=hint, retryable=retryable)
