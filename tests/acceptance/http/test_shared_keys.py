"""Keys that live in one file for all servers: changes and revocations count at once, a cut file drops nobody."""

from __future__ import annotations

from pathlib import Path

from serving import commonplace, create_key, served
from support import eventually, new_repo


def test_keys_of_a_file_are_followed(tmp_path: Path) -> None:
    work = new_repo(tmp_path / "notes", {"a.md": "# A\n"})
    keys = tmp_path / "keys.json"
    first = create_key("first", "--tier", "write", "--folder", "inbox", "--keys", str(keys))
    secret = tmp_path / "own"
    secret.write_text("own-key-of-the-server\n")
    env = {"COMMONPLACE_API_KEY_FILE": str(secret)}
    with (
        served(work.path, "--keys", keys, env=env) as server,
        served(work.path, "--keys", keys) as other,
    ):
        assert server.page("GET", "a", key="own-key-of-the-server").status == 200
        assert server.page("PUT", "inbox/b", {"content": "# B\n"}, key=first).status == 201
        assert other.page("PUT", "c", {"content": "# C\n"}, key=first).status == 403, "its folder is inbox"
        second = create_key("second", "--keys", str(keys))
        for node in (server, other):
            assert node.page("GET", "a", key=second).status == 200
        whole = keys.read_bytes()
        keys.write_bytes(whole[: len(whole) // 2])
        assert server.page("GET", "a", key=first).status == 200
        assert server.page("GET", "a", key="cpk_wrong").status == 401
        keys.write_bytes(whole)
        assert commonplace("keys", "revoke", "first", "--keys", str(keys)).returncode == 0
        for node in (server, other):
            assert node.page("GET", "a", key=first).status == 401
            assert node.page("GET", "a", key=second).status == 200
        eventually(lambda: any("valid until it is whole again" in line for line in server.lines), 30)
