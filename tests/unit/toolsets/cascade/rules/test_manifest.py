"""Manifests: what is read, and what is refused with which words."""

from __future__ import annotations

import json

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.toolsets.cascade.rules.manifest import LayerSpec, parse_manifest, resolved_paths, two_layers

FOLDER = {"name": "notes", "level": 1, "path": "notes"}


def parsed(*layers: object) -> tuple[LayerSpec, ...]:
    return parse_manifest(json.dumps({"layers": list(layers)}), "layers.json")


def test_layers_are_read_in_their_order() -> None:
    server = {"name": "ü", "level": -2, "source": "mcp", "command": " ./run ", "args": ["--x", ""]}
    assert parsed(FOLDER, server) == (
        LayerSpec(name="notes", level=1, path="notes"),
        LayerSpec(name="ü", level=-2, source="mcp", command=("./run", "--x", "")),
    )
    assert parsed() == ()
    assert [layer.level for layer in two_layers("p", "s")] == [3, 0]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (5, "layer 1 is not an object"),
        ({**FOLDER, "name": ""}, 'layer 1 has no "name", a text of one line'),
        ({**FOLDER, "name": "a\nb"}, 'layer 1 has no "name"'),
        ({**FOLDER, "name": 5}, 'layer 1 has no "name"'),
        ({**FOLDER, "level": "1"}, "the \"level\" of layer 'notes' is not an integer"),
        ({**FOLDER, "level": True}, "is not an integer"),
        ({**FOLDER, "level": 1.5}, "is not an integer"),
        ({**FOLDER, "path": " "}, "layer 'notes' has no \"path\", a text"),
        ({**FOLDER, "path": "a\0"}, 'has no "path"'),
        ({**FOLDER, "source": "http"}, "is not one of okf-local, mcp"),
        ({**FOLDER, "source": None}, "is not one of okf-local, mcp"),
        ({**FOLDER, "source": "mcp"}, 'has no "command"'),
        ({**FOLDER, "source": "mcp", "command": "x", "args": "y"}, 'the "args" of layer'),
        ({**FOLDER, "source": "mcp", "command": "x", "args": [1]}, "are not a list of texts"),
        ({**FOLDER, "Level": 2}, "unknown key 'Level'; did you mean 'level'?"),
        ({**FOLDER, "zzz": 2}, "unknown key 'zzz'; known are name, level, source, path, command, args."),
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
    server = LayerSpec(name="s", level=0, source="mcp", command=("./run", "python", "../x", "~/y", "--f=./z", "/abs"))
    made = resolved_paths(server, lambda path: f"<{path}>")
    assert made.command == ("<./run>", "python", "<../x>", "<~/y>", "--f=./z", "/abs")
    assert made.path == ""
    assert resolved_paths(LayerSpec(name="f", level=0, path="n"), lambda path: f"<{path}>").path == "<n>"
