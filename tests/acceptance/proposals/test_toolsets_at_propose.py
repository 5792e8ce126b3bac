"""Each toolset at the tier `propose`: its writes wait, or it is not served."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from at_propose import accept_all, served
from shell import Shell
from support import new_repo

PAGES: dict[str, str | bytes] = {
    "kb.yaml": "name: tea\ntypes:\n  note: {}\n",
    "green.md": "---\nid: green\ntitle: Green tea\ntype: note\n---\n# Green tea\n\nHot.\n",
}
CALLS = {
    "kb": [
        ("kb_create", {"title": "Oolong", "kb_name": "tea", "entry_type": "note", "body": "Dark."}),
        ("kb_update", {"kb_name": "tea", "entry_id": "green", "body": "Cold."}),
    ],
    "wiki": [
        ("write_note", {"path": "Oolong", "content": "# Oolong\n\nDark.\n"}),
    ],
}


@pytest.mark.parametrize("toolset", CALLS)
def test_writes_wait_and_accepting_leaves_what_writing_leaves(tmp_path: Path, toolset: str) -> None:
    texts: list[dict[str, bytes]] = []
    for tier in ("write", "propose"):
        repo = new_repo(tmp_path / tier / "tea", PAGES)
        before = served(repo.path)
        command = ("mcp", repo.path, "--toolset", toolset, "--tier", tier, "--no-embed", "--commit", "auto")
        with agent(*command) as client:
            for tool, values in CALLS[toolset]:
                if toolset == "kb":
                    client.raw("kb_get", kb_name="tea", entry_id="green")
                result = client.raw(tool, **values)
                assert not result.is_error, result
                assert ("PROPOSED" in str(result.content)) is (tier == "propose")
            if tier == "propose":
                assert served(repo.path) == before
                assert "proposals" in client.tools()
                accept_all(repo.path, tmp_path)
        texts.append({path.name: path.read_bytes() for path in repo.path.rglob("*.md")})
    assert texts[0].keys() == texts[1].keys()
    assert len(texts[0]) > 1
    for name, text in texts[0].items():
        assert b"".join(_undated(texts[1][name])) == b"".join(_undated(text))


REASONS = {
    "cascade": "not every layer has branches",
    "pages": "goes to a site, which has no proposals",
}


@pytest.mark.parametrize("toolset", list(REASONS))
def test_a_toolset_that_takes_no_proposals_says_so_and_why_at_the_start(tmp_path: Path, toolset: str) -> None:
    repo = new_repo(tmp_path / "tea", {**PAGES, ".confluence.json": '{"spaceKey": "TEA"}'})
    for command in (["mcp", repo.path], ["serve", repo.path, "--port", "0"]):
        done = Shell(tmp_path)(*command, "--toolset", toolset, "--tier", "propose")
        assert (done.code != 0, REASONS[toolset] in done.stderr) == (True, True), done.stderr
        assert "or the toolset notes, kb, projects or wiki" in done.stderr


def _undated(text: bytes) -> list[bytes]:
    return [line for line in text.splitlines(keepends=True) if not line.startswith((b"created", b"updated"))]
