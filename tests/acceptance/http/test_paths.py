"""Paths that lead out, or into Git's own folder, through every way in over HTTP: none gets there."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from serving import Server, served
from support import Amount, MakeRepo

CANARY = "canary-7f3a-outside"
PARTS = (
    "..", ".", "...", "", "a", "notes", "secret.md", "secret", ".git", ".GIT", "git~1", ".git.", ".git ", ".Git::$DATA",
    ".gitattributes", ".gitmodules", "config", "hooks", "HEAD", "%2e%2e", "%2E%2E%2F", "..%2f", "..\\", "C:", "C:\\",
    "\\\\host\\share", "//host", "/etc/passwd", "/", "\0", "\n", "\r\n", "a.", "a ", " a", "e\u0301", "\u00e9",
    "\uff0e\uff0e", "\u2024\u2024", "\u202e", "\ufeff", "con", "aux.md", "~", "~root", "$HOME", "-rf", "--output=x",
    "x" * 300, "\u2215", "\uff0f", ".commonplace-1", ".obsidian", "\U0001f600", "a:b", "a*?", "|x", "`id`", "$(id)",
)  # fmt: skip
SEPARATORS = ("/", "/", "/", "\\", "//", "/./", "%2f", "", "\u2215")


def _path(chance: random.Random, outside: str) -> str:
    pieces = [chance.choice((*PARTS, outside)) for _ in range(chance.randint(1, 5))]
    text = pieces[0]
    for piece in pieces[1:]:
        text += chance.choice(SEPARATORS) + piece
    return chance.choice(("", "", "../", "../../", "/")) + text + chance.choice(("", "", ".md", "/", ".", " "))


def test_no_path_leads_out_of_the_folder_or_into_git(git_repo: MakeRepo, tmp_path: Path, amount: Amount) -> None:
    repo = git_repo(name="kb", files={"a.md": "# A\n", "notes/b.md": "# B\n"})
    (tmp_path / "secret.md").write_text(CANARY)
    (tmp_path / "secret").write_text(CANARY)
    guarded = {**_outside(tmp_path, repo.path), **_own(repo.path / ".git")}
    chance = random.Random(20261121)
    xdg = {f"XDG_{name}_HOME": str(tmp_path / "own" / name) for name in ("CACHE", "STATE")}
    with served(repo.path, "--tier", "write", env=xdg) as server:
        for _ in range(amount(40, 5000)):
            path = _path(chance, str(tmp_path / "secret.md"))
            for answer in _tried(server, path):
                assert CANARY not in answer, path
        assert not [line for line in server.lines if "Traceback" in line]
    assert {**_outside(tmp_path, repo.path), **_own(repo.path / ".git")} == guarded
    repo.git("fsck", "--strict", "--no-dangling")
    for written in repo.git("ls-files", "-z").split("\0"):
        assert not any(part.lower().rstrip(". ").startswith(".git") for part in written.split("/")), written


def _tried(server: Server, path: str) -> list[str]:
    """What each way in answers to a path; none of them fails inside."""
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


def _outside(place: Path, folder: Path) -> dict[str, str]:
    """Every file beside the folder, without what the server keeps for itself."""
    found = (path for path in place.rglob("*") if path.is_file() and not path.is_relative_to(folder))
    return {str(path): _hash(path) for path in found if "own" not in path.relative_to(place).parts[:1]}


def _own(folder: Path) -> dict[str, str]:
    """Git's own files that no write may touch."""
    names = [folder / "config", *(folder / "hooks").glob("*"), *(folder / "info").glob("*")]
    return {str(path): _hash(path) for path in names if path.is_file()}


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
