"""Access keys in their file: made, found, revoked, and seen by other processes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.domain.activity import WriteLimits
from commonplace.domain.errors import ConfigError, InvalidInputError, NotFoundError
from commonplace.faces.access.authentication import KEY_FILE, KEY_PREFIX, KeyStore, write_limits


def test_a_key_is_found_by_itself_alone_and_never_stands_in_the_file(tmp_path: Path) -> None:
    store = KeyStore(tmp_path / "new")
    token, key = store.create("Ada's laptop".replace("'", ""), "write", ["notes", "潮"])
    assert token.startswith(KEY_PREFIX)
    assert len(token) > 40
    assert token not in (tmp_path / "new" / KEY_FILE).read_text()
    assert store.find(token) == key
    assert key.caller.collections == frozenset({"notes", "潮"})
    for other in ("", token[:-1], f"{token}x", token.lower() if token != token.lower() else "x", key.sha256, "\udcff"):
        assert store.find(other) is None, ascii(other)


def test_a_key_for_no_collection_opens_none(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    assert store.create("nothing", "read", [])[1].collections == ()
    assert store.create("all", "read")[1].collections is None
    assert [key.caller.collections for key in store.all()] == [frozenset(), None]


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    KeyStore(tmp_path).create("a", "read")
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_another_process_sees_a_new_key_and_a_revoked_one_at_once(tmp_path: Path) -> None:
    store, other = KeyStore(tmp_path), KeyStore(tmp_path)
    assert store.all() == other.all() == ()
    assert not other.ever()
    token, key = store.create("a", "read")
    assert other.find(token) == key
    store.revoke(key.id)
    assert other.find(token) is None
    assert other.ever(), "the last key being revoked opens nothing"


@pytest.mark.parametrize("name", ["", "x" * 61, "a\nb", "a/b", "tab\t", " ", " a", "a ", "\u202egnp", "a\0"])
def test_a_name_that_nobody_could_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="expected 1 to 60 letters, digits, "):
        KeyStore(tmp_path).create(name, "read")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x", "x" * 60, "Zoë at home", "ada@example.org", "茶 1"])
def test_a_name_may_be_of_any_script(tmp_path: Path, name: str) -> None:
    KeyStore(tmp_path).create(name, "read")
    assert [key.name for key in KeyStore(tmp_path).all()] == [name]


def test_the_last_key_that_administers_everything_stays(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    for number in range(2):
        store.create(f"boss{number}", "admin")
    store.create("some", "admin", ["notes"])
    store.limit("boss0", WriteLimits(folders=("inbox",)))
    for change in (store.revoke, lambda name: store.limit(name, WriteLimits(pages=1))):
        with pytest.raises(InvalidInputError, match="boss1 is the last key of the tier admin without limits"):
            change("boss1")
    store.create("next", "admin")
    assert store.revoke("boss1").name == "boss1"


def test_folders_are_paths_of_all_collections_or_of_one() -> None:
    stated = ["/a/b/", "notes:", "notes:/a/"]
    assert write_limits(stated, (), None, None).folders == ("a/b", "notes:", "notes:a")
    for folder in (":a", ":", "", "/", "notes:../a"):
        with pytest.raises(InvalidInputError):
            write_limits([folder], (), None, None)


def test_keys_of_one_name_are_revoked_by_their_ids(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    (_, key), (_, two) = store.create("a", "read"), store.create("a", "write")
    with pytest.raises(InvalidInputError, match=f"2 keys are named 'a': {key.id}, {two.id}") as caught:
        store.revoke("a")
    assert caught.value.hint == "Give the id."
    assert store.revoke(key.id) == key
    assert store.revoke("a") == two
    with pytest.raises(NotFoundError, match="no key 'a'"):
        store.revoke("a")


def test_keys_that_are_made_at_once_are_all_there(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda number: KeyStore(tmp_path).create(f"k{number}", "read")[0], range(12)))
    store = KeyStore(tmp_path)
    assert {key.name for key in store.all()} == {f"k{number}" for number in range(12)}
    assert all(map(store.find, made))


GOOD = {"id": "1", "name": "a", "sha256": "0" * 64, "tier": "read", "collections": None, "created": ""}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"keys": 5}',
        "{" * 100_000,
        json.dumps({"keys": [{**GOOD, "tier": "root"}]}),
        json.dumps({"keys": [{**GOOD, "sha256": "\u00e9" * 64}]}),
        json.dumps({"keys": [{**GOOD, "sha256": "0" * 63}]}),
        json.dumps({"keys": [{**GOOD, "collections": "notes"}]}),
        json.dumps({"keys": [{**GOOD, "collections": {"notes": True}}]}),
        json.dumps({"keys": [{name: value for name, value in GOOD.items() if name != "collections"}]}),
    ],
)
def test_a_damaged_file_lets_nobody_in_and_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / KEY_FILE).write_text(content, encoding="utf-8")
    for use in (lambda store: store.find("cpk_x"), lambda store: store.create("a", "read")):
        with pytest.raises(ConfigError, match=r"keys\.json, is damaged") as caught:
            use(KeyStore(tmp_path))
        assert str(tmp_path) not in str(caught.value)
    assert (tmp_path / KEY_FILE).read_text(encoding="utf-8") == content
