"""Runs a suite of writing tests at the tier `propose`, with `proposing_agent(agent)` in the place of the suite's own.

No call may change anything that is served. What a call proposes is accepted at once, so that the test finds in the
folder what it expects of a write. Its answer is the same besides the line about the proposal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pygit2
from mcp_types import CallToolResult, TextContent

from agent import Agent
from remotes import canary
from shell import Shell
from support import digests

Connect = Callable[..., AbstractContextManager[Agent]]
_LITTER = {canary.NAME, "activity.log"}
"""Files beside the pages; the log is that of the calls on a store of projects, and is never committed."""
_LINE = r"(?:PROPOSED|WITH YOUR PROPOSAL)"
_MARK = re.compile(rf'\n\n{_LINE}[^\n]*$|,\s*"proposal": ?"{_LINE}[^"]*"')


def proposing_agent(connect: Connect, state: Path, accept: Callable[[Path], None] | None = None) -> Connect:
    """The connection of a suite, at the tier `propose` in the place of `write`.

    Args:
        connect: `agent.agent`.
        state: A folder for the caches of the command that accepts.
        accept: Accepts the proposals of a folder; None for the command.
    """
    deciding = accept or (lambda folder: accept_all(folder, state))

    @contextmanager
    def connected(*arguments: Any, **more: Any) -> Generator[Agent]:
        proposes, folders = _at_propose(arguments), [argument for argument in arguments if isinstance(argument, Path)]
        with connect(*proposes, **more) as client:
            if list(proposes) != list(arguments):
                raw = client.raw
                client.raw = lambda tool, /, **values: _accepted(raw, folders, deciding, tool, values)
            yield client

    return connected


def accept_all(folder: Path, state: Path) -> None:
    """Accept every open proposal, the oldest first."""
    shell = Shell(folder, {"XDG_CACHE_HOME": str(state / "cache"), "XDG_STATE_HOME": str(state / "state")})
    for proposal in reversed(shell.ok("proposals", "--json", "-C", folder).json["proposals"]):
        shell.ok("proposals", "accept", proposal["id"], "-C", folder)


def served(folder: Path) -> dict[str, str]:
    """Digest of each file of the folder, its branches and Git's index."""
    files = {path: digest for path, digest in digests(folder).items() if Path(path).name not in _LITTER}
    refs = {name: target for name, target in _references(folder).items() if "/proposals/" not in name}
    own = {name: _digest(folder / ".git" / name) for name in ("HEAD", "index", "logs/HEAD")}
    return files | refs | own


def _references(folder: Path) -> dict[str, str]:
    """What each reference of the folder's repository points to; none where there is no repository."""
    if not (folder / ".git").exists():
        return {}
    repo = pygit2.Repository(folder)
    return {name: str(repo.references[name].target) for name in repo.references}


def _at_propose(arguments: Sequence[Any]) -> list[Any]:
    """The arguments with the tier `propose` in the place of `write`."""
    pairs = zip([None, *arguments], arguments, strict=False)
    return ["propose" if before == "--tier" and element == "write" else element for before, element in pairs]


def _accepted(
    raw: Callable[..., CallToolResult],
    folders: Sequence[Path],
    accept: Callable[[Path], None],
    tool: str,
    values: dict[str, Any],
) -> CallToolResult:
    """The result of a call, after what it proposed was accepted."""
    before, drafts = [served(folder) for folder in folders], [_references(folder) for folder in folders]
    result = raw(tool, **values)
    assert [served(folder) for folder in folders] == before
    texts = [block for block in result.content if isinstance(block, TextContent)]
    if any("PROPOSED" in text.text for text in texts):
        for folder, old in zip(folders, drafts, strict=True):
            if _references(folder) != old:
                accept(folder)
    for text in texts:
        text.text = _MARK.sub("", text.text)
    if result.structured_content:
        result.structured_content.pop("proposal", None)
    return result


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
