"""Changes single keys of a `kb.yaml`; comments and all other bytes are unchanged."""

from __future__ import annotations

import codecs
from collections.abc import Mapping

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, equal_json
from commonplace.domain.schema import SCHEMA_FILE, yaml_finding
from commonplace.domain.settings_values import mapping_of
from commonplace.domain.yamlblock.emitter import as_json_types
from commonplace.domain.yamlblock.key_edits import change_keys
from commonplace.domain.yamlblock.loader import load


def set_keys(raw: bytes, changes: Mapping[str, Json]) -> bytes:
    """A `kb.yaml` with new values for some of its keys; comments and all other bytes are unchanged.

    Args:
        raw: The current file; b"" for a new one.
        changes: New values by top-level key; None removes the key.

    Raises:
        InvalidInputError: kind "schema": the file is unreadable, or a key cannot be changed separately.
    """
    mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
    try:
        text = raw[len(mark) :].decode()
    except UnicodeDecodeError:
        raise InvalidInputError(
            f"{SCHEMA_FILE} is broken: it is not UTF-8.", kind="schema", hint="Save the file as UTF-8 first."
        ) from None
    loaded = load(text)
    if loaded.failed or not isinstance(loaded.value or {}, Mapping):
        raise InvalidInputError(
            f"{SCHEMA_FILE} is broken: {yaml_finding(loaded.problems[0]).message if loaded.problems else 'no mapping'}",
            kind="schema",
            hint="Repair the file by hand first.",
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    whole = text if not text or text.endswith("\n") else text + newline
    old = mapping_of(loaded.value)
    normalised = {key: as_json_types(value) for key, value in changes.items()}
    wanted = {key: one for key, one in normalised.items() if key in old or one is not None}
    wanted = {key: one for key, one in wanted.items() if key not in old or not equal_json(old[key], one)}
    if not wanted:
        return raw
    changed = change_keys(whole, old, wanted, newline)
    expected = {key: one for key, one in {**old, **wanted}.items() if key not in wanted or one is not None}
    if not equal_json(mapping_of(load(changed).value), expected):
        raise InvalidInputError(
            f"{SCHEMA_FILE} cannot be changed by key: it would not read back the same.",
            kind="schema",
            hint="Edit the file by hand.",
        )
    return mark + changed.encode()
