"""Manifests: what is read, and what is refused with which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError
from commonplace.toolsets.cascade.rules.manifest import (
    LayerSpec,
    Manifest,
    ProfileChoice,
    parse_manifest,
    resolved_paths,
    two_layers,
)

FOLDER = {"name": "notes", "level": 1, "path": "notes"}


def parsed(*layers: object) -> tuple[LayerSpec, ...]:
    return manifest({"layers": list(layers)}).layers


def manifest(content: object, **choice: Any) -> Manifest:
    return parse_manifest(json.dumps(content), "layers.json", ProfileChoice(**choice))


def test_layers_are_read_in_their_order() -> None:
    server = {"name": "ü", "level": -2, "source": "mcp", "command": " ./run ", "args": ["--x", ""]}
    assert parsed(FOLDER, server) == (
        LayerSpec(name="notes", level=1, path="notes"),
        LayerSpec(name="ü", level=-2, command=("./run", "--x", "")),
    )
    assert parsed() == ()
    assert [layer.level for layer in two_layers("p", "s")] == [3, 0]


@each_case(
    ("text", "said"),
    [
        ("", "it is not valid JSON"),
        ("[" * 100_000, "it is not valid JSON"),
        ("1" * 5_000, "it is not valid JSON"),
        ("[]", 'it has no list "layers"'),
        ("{}", 'it has no list "layers"'),
        ('{"layers": {}}', 'it has no list "layers"'),
        ('{"layer": []}', "but a key 'layer'"),
        ('{"layers": [], "Layers2": 1}', "did you mean 'layers'?"),
    ],
)
def test_what_is_no_manifest_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"The manifest 'l\.json' is not valid: ") as caught:
        parse_manifest(text, "l.json")
    assert said in str(caught.value)


@each_case(
    ("layer", "said"),
    [
        (5, "layer 1 is not an object"),
        ({**FOLDER, "name": ""}, 'layer 1 has no "name", a text of one line'),
        ({**FOLDER, "name": "a\nb"}, 'layer 1 has no "name"'),
        ({**FOLDER, "name": 5}, 'layer 1 has no "name"'),
        ({**FOLDER, "level": "high"}, "the \"level\" of layer 'notes' is not an integer"),
        ({**FOLDER, "level": "1.5"}, "is not an integer"),
        ({**FOLDER, "level": "9" * 5000}, "is not an integer"),
        ({**FOLDER, "level": "٣"}, "is not an integer"),
        ({**FOLDER, "level": None}, "is not an integer"),
        ({**FOLDER, "level": True}, "is not an integer"),
        ({**FOLDER, "level": 1.5}, "is not an integer"),
        ({**FOLDER, "path": " "}, "layer 'notes' has no \"path\", a text"),
        ({**FOLDER, "path": "a\0"}, 'has no "path"'),
        ({**FOLDER, "source": "http"}, "is not one of okf-local, files, live, git, github, mcp"),
        ({**FOLDER, "source": None}, "is not one of okf-local, files, live, git, github, mcp"),
        ({**FOLDER, "source": "mcp"}, 'has no "command"'),
        ({**FOLDER, "source": "mcp", "command": "x", "args": "y"}, 'the "args" of layer'),
        ({**FOLDER, "source": "mcp", "command": "x", "args": [1]}, "are not a list of texts"),
        ({**FOLDER, "Level": 2}, "unknown key 'Level'; did you mean 'level'?"),
        ({**FOLDER, "zzz": 2}, "unknown key 'zzz'; known are name, level, source, path, "),
        ({**FOLDER, "ref": "main"}, '"ref" of layer \'notes\' needs a remote: the source "git" or "github"'),
        ({**FOLDER, "paths": ["docs/**"]}, "\"paths\" of layer 'notes' needs a remote"),
        ({**FOLDER, "live": "yes"}, "is not true or false"),
        ({**FOLDER, "git": 5}, "\"git\" of layer 'notes' is not an object"),
        ({**FOLDER, "git": {"retentionDay": 5}}, "did you mean 'retentionDays'?"),
        ({**FOLDER, "git": {"retentionDays": -1}}, "is not a number of days"),
        ({"name": "r", "level": 0, "source": "github", "repo": "alone"}, "is not OWNER/NAME"),
        ({"name": "r", "level": 0, "source": "github", "repo": "-o/name"}, "is not OWNER/NAME"),
        ({"name": "r", "level": 0, "source": "github", "repo": "o/.."}, "is not OWNER/NAME"),
        (
            {"name": "r", "level": 0, "source": "github", "repo": "o/r", "apiBase": "https://u@h/"},
            "without credentials",
        ),
        ({"name": "r", "level": 0, "source": "git"}, 'has no "url"'),
        ({"name": "r", "level": 0, "source": "git", "url": "--upload-pack=x"}, "is not an address of a repository"),
        ({"name": "r", "level": 0, "source": "git", "url": "ext::sh -c touch% x"}, "is not an address of a repository"),
        ({"name": "r", "level": 0, "source": "git", "url": "u", "ref": "-x"}, "is not a branch or commit"),
        ({"name": "r", "level": 0, "source": "git", "url": "u#a", "ref": "b"}, 'in its address and in "ref"'),
        (
            {"name": "r", "level": 0, "source": "git", "url": "u", "live": True},
            "cannot be live; captures need a folder",
        ),
    ],
)
def test_a_layer_that_is_not_valid_is_refused_with_what_is_expected(layer: object, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(layer)
    assert said in str(caught.value)


def test_two_layers_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="the name 'notes' is given to two layers"):
        parsed(FOLDER, {**FOLDER, "level": 2})


def test_only_paths_become_absolute() -> None:
    server = LayerSpec(name="s", level=0, command=("./run", "python", "../x", "~/y", "--f=./z", "/abs"))
    made = resolved_paths(server, lambda path: f"<{path}>")
    assert made.command == ("<./run>", "python", "<../x>", "<~/y>", "--f=./z", "/abs")
    assert made.path == ""
    assert resolved_paths(LayerSpec(name="f", level=0, path="n"), lambda path: f"<{path}>").path == "<n>"


def test_a_level_may_be_a_number_as_text() -> None:
    levels = [{**FOLDER, "name": str(value), "level": value} for value in ("2", " -3 ", "+4", 5.0)]
    assert [layer.level for layer in parsed(*levels)] == [2, -3, 4, 5]


def test_every_source_is_a_folder_a_remote_or_a_server() -> None:
    remotes = {"name": "r", "level": 0, "paths": ["docs/**"], "ref": "refs/heads/main"}
    assert parsed(
        {**FOLDER, "source": "files"},
        {**FOLDER, "name": "captures", "source": "live"},
        {**remotes, "source": "github", "repo": "o/r"},
        {**remotes, "name": "ghe", "source": "github", "repo": "o/r", "apiBase": "https://git.example.org/api/v3"},
        {**remotes, "name": "scp", "source": "git", "url": "git@example.org:o/r.git", "ref": "a" * 40},
        {**remotes, "name": "old", "path": "https://example.org/r.git"},
    ) == (
        LayerSpec(name="notes", level=1, path="notes"),
        LayerSpec(name="captures", level=1, path="notes", live=True),
        LayerSpec(name="r", level=0, path="https://github.com/o/r.git#main", remote=True, paths=("docs/**",)),
        LayerSpec(name="ghe", level=0, path="https://git.example.org/o/r.git#main", remote=True, paths=("docs/**",)),
        LayerSpec(name="scp", level=0, path=f"git@example.org:o/r.git#{'a' * 40}", remote=True, paths=("docs/**",)),
        LayerSpec(name="old", level=0, path="https://example.org/r.git#main", paths=("docs/**",)),
    )


def test_a_live_layer_says_for_how_long_captures_count_and_whose_they_are() -> None:
    checkout = {"pullTtlSeconds": 9, "retentionDays": 30, "profileName": "Ada"}
    assert parsed({**FOLDER, "live": True, "git": checkout}) == (
        LayerSpec(name="notes", level=1, path="notes", live=True, retention_days=30, author="Ada"),
    )
    assert parsed({**FOLDER, "git": {}})[0].retention_days == 14
    with pytest.raises(ConfigError, match="'notes' and 'b' are both live"):
        parsed({**FOLDER, "live": True}, {**FOLDER, "name": "b", "live": True})


PROFILES = {
    "profiles": {
        "default": {"label": "Default", "layers": [FOLDER]},
        "work": {"layers": [{**FOLDER, "name": "work"}], "paths": ["~/work", "/w"]},
        "deep": {"layers": [{**FOLDER, "name": "deep"}]},
    },
    "projects": {"/w/deep": "deep"},
    "settings": {"maxDocFiles": 500},
}


@each_case(
    ("named", "working", "profile"),
    [
        (None, "/home", "default"),
        (None, "/w/any", "work"),
        (None, "/w/deep/er", "deep"),
        ("work", "/w/deep/er", "work"),
        ("default", "/w/any", "default"),
    ],
)
def test_a_profile_is_the_named_one_or_that_of_the_deepest_folder(
    named: str | None, working: str, profile: str
) -> None:
    def depth(path: str) -> int:
        return path.count("/") if working.startswith(path) else 0

    chosen = manifest(PROFILES, named=named, depth=depth)
    assert (chosen.profile, chosen.layers[0].name) == (profile, "notes" if profile == "default" else profile)


@each_case(
    ("content", "named", "said"),
    [
        (PROFILES, "wrok", "it has no profile 'wrok'; did you mean 'work'?"),
        (PROFILES, "zzz", "it has no profile 'zzz'; there are default, work, deep."),
        ({"layers": []}, "work", "it has no profiles, so none named 'work'"),
        ({"profiles": {"a": {"layers": []}}}, None, "it has no profile 'default'"),
        ({"profiles": []}, None, 'its "profiles" are not objects by name'),
        ({"profiles": {"default": []}}, None, 'its "profiles" are not objects by name'),
        ({"profiles": {"default": {"layer": []}}}, None, "did you mean 'layers'?"),
        ({"profiles": {"default": {"layers": [], "paths": "x"}}}, None, "are not a list of texts"),
        ({**PROFILES, "projects": {"/w": 5}}, None, "the project '/w' names no profile"),
        ({**PROFILES, "projects": {"/w": "gone"}}, "gone", "it has no profile 'gone'"),
        ({**PROFILES, "projects": {"/v": "deep", "/w": "default"}}, None, "belongs to the profiles "),
    ],
)
def test_a_profile_that_cannot_be_chosen_is_refused(content: object, named: str | None, said: str) -> None:
    def depth(_: str) -> int:
        return 1

    with pytest.raises(ConfigError) as caught:
        manifest(content, named=named, depth=depth)
    assert said in str(caught.value)


def test_layers_beside_profiles_are_the_default_profile() -> None:
    both = {"layers": [FOLDER], "profiles": {"work": {"layers": [{**FOLDER, "name": "work"}]}}}
    assert [manifest(both).layers[0].name, manifest(both, named="work").layers[0].name] == ["notes", "work"]


def test_keys_that_do_not_change_what_is_read_are_named_in_one_warning() -> None:
    cached = {**FOLDER, "cache": {"ttlSeconds": 5}, "origin": "pack:a@1", "git": {"pullTtlSeconds": 1}}
    assert manifest({"layers": [cached], "settings": {}, "packs": {}}).warning == (
        'The manifest \'layers.json\' has keys without effect here: "settings", "packs", '
        '"cache" (layer \'notes\'), "origin" (layer \'notes\'), "pullTtlSeconds" ("git" of layer \'notes\').'
    )
    assert manifest(PROFILES).warning.endswith('"settings", "label" (profile \'default\').')
    assert not manifest({"layers": [FOLDER]}).warning


@pytest.mark.parametrize(
    "arguments",
    [
        ["--token", "abc123"],
        ["--api-key=abcdef"],
        ["--header", "Authorization: Bearer abcdefghijkl"],
        ["x-api-key: 123456abc"],
        ["ghp_abcdefghijklmnop1234"],
        ["sk-abcdefghijklmnop"],
        ["AKIAABCDEFGHIJKLMNOP"],
        ["eyJhbGciOi.eyJzdWIiOi.x"],
        ["postgres://user:secret@127.0.0.1/db"],
    ],
)
def test_a_credential_in_a_command_is_refused_with_the_way_by_environment(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="environment variable that the command reads") as caught:
        parsed({"name": "s", "level": 0, "source": "mcp", "command": "x", "args": arguments})
    assert not any(argument in str(caught.value) for argument in arguments)


def test_what_only_looks_like_a_credential_is_passed_on() -> None:
    harmless = ["--max-tokens=4096", "--token-file", "x", "--token", "$TOKEN", "API_KEY=$KEY", "--password", "--other"]
    server = {"name": "s", "level": 0, "source": "mcp", "command": "x", "args": harmless}
    assert parsed(server)[0].command == ("x", *harmless)


def test_a_remote_on_this_machine_becomes_a_url() -> None:
    remote = LayerSpec(name="r", level=0, path="wiki.git#main", remote=True)
    assert resolved_paths(remote, lambda path: f"/a b/{path}").path == "file:///a%20b/wiki.git#main"
    host = LayerSpec(name="r", level=0, path="git@example.org:r.git", remote=True)
    assert resolved_paths(host, lambda path: f"/{path}").path == "git@example.org:r.git"
