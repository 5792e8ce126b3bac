"""Paths that lead out, or into Git's own folder, through every way in over HTTP: none gets there."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import quote

from hostile import CANARY, hostile_ground, path_string
from serving import Server, served
from support import Amount, MakeRepo


def test_no_path_leads_out_of_the_folder_or_into_git(git_repo: MakeRepo, tmp_path: Path, amount: Amount) -> None:
    repo = git_repo(name="kb", files={"a.md": "# A\n", "notes/b.md": "# B\n"})
    ground = hostile_ground(tmp_path, repo)
    chance = random.Random(20261121)
    xdg = {f"XDG_{name}_HOME": str(tmp_path / "own" / name) for name in ("CACHE", "STATE")}
    with served(repo.path, "--tier", "write", env=xdg) as server:
        for _ in range(amount(40, 5000)):
            path = path_string(chance, ground.secret)
            for answer in _tried(server, path):
                assert CANARY not in answer, path
        assert not [line for line in server.lines if "Traceback" in line]
    ground.assert_untouched()


def _tried(server: Server, path: str) -> list[str]:
    """The answer of each way in to a path. No answer is an internal error."""
    bodies: list[str] = []
    for answer in (
        server.page("GET", path),
        server.page("PUT", path, {"content": "x\n"}),
        server.page("POST", "a", {"filename": path, "content": "eA=="}, below="/attachments"),
        server.page("GET", "a", below=f"/attachments/{quote(path, safe='')}"),
        server.page("POST", "notes/b", {"new_path": path}, below="/rename") if path.startswith("..") else None,
        server.ask("GET", f"/api/v1/links/{quote(path, safe='')}"),
        server.ask("GET", f"/api/v1/pages?prefix={quote(path, safe='')}"),
    ):
        if answer is not None:
            assert answer.status < 500, (path, answer.status, answer.body[:300])
            bodies.append(answer.body.decode(errors="replace"))
    calls = (
        ("kb", "kb_get", {"entry_id": path}),
        ("wiki", "read_note", {"path": path}),
        ("wiki", "write_note", {"path": path, "content": "y\n"}),
        ("wiki", "download_attachment", {"path": "a", "filename": path}),
    )
    bodies += [str(server.call(toolset, tool, arguments)) for toolset, tool, arguments in calls]
    spelled = [quote(path, safe=""), *([path] if path.isascii() and path.isprintable() else [])]
    for uri in spelled:  # the URI stands in a header, too, which holds no other characters
        bodies.append(str(server.rpc("kb", "resources/read", {"uri": f"pyrite://kbs/kb/entries/{uri}"})))
    assert not [body for body in bodies if "Internal error" in body], (path, bodies)
    return bodies
