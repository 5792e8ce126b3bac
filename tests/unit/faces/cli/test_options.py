"""Options that several commands share."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.faces.cli.options import CommonOptions, exclusive, pair


@pytest.mark.parametrize("text", ["status", "=open", " =x", ""])
def test_a_field_without_key_or_equals_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"Invalid --set .* expected KEY=VALUE"):
        pair("--set", text)


def test_options_that_exclude_each_other_are_named() -> None:
    with pytest.raises(ConfigError, match="--out and --broken cannot be combined"):
        exclusive(**{"--out": True, "--back": False, "--broken": True})
    exclusive(**{"--out": True, "--back": None})


def test_only_given_options_are_flags() -> None:
    assert CommonOptions().flags() == {"kb": None, "log_level": None, "log_format": None}
    assert CommonOptions(kb=["a"], log_level="info").flags() == {"kb": ["a"], "log_level": "info", "log_format": None}
