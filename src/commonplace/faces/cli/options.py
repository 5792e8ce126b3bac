"""What all commands take, and what checks their options.

A start of the server comes through here: nothing of the domain but its errors is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import typer

from commonplace.domain.errors import ConfigError
from commonplace.settings import Flags, about

MAX_LIMIT = 10_000
"""Most results of one answer; further ones are reached by `--offset`."""

ADOPT = "Make a store of project knowledge in a folder that holds other files; these are never committed."
"""What `--adopt` does."""

PageArgument: TypeAlias = Annotated[str, typer.Argument(metavar="PAGE", hidden=True)]
OptionalPageArgument: TypeAlias = Annotated[str | None, typer.Argument(metavar="PAGE", hidden=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """What every command takes."""

    kb: Annotated[
        list[str],
        typer.Option(
            "--kb", "-C", metavar="PATH", help="Folder of pages; may be repeated. Default: $COMMONPLACE_KB, else here."
        ),
    ] = field(default_factory=list[str])
    as_json: Annotated[bool, typer.Option("--json", help="Answer with one JSON document; errors too.")] = False
    no_color: Annotated[bool, typer.Option("--no-color", help="No styles; as NO_COLOR in the environment.")] = False
    log_level: Annotated[
        str | None, typer.Option("--log-level", metavar="LEVEL", help=about("log_level"), show_default=False)
    ] = None

    def flags(self) -> Flags:
        """The settings among them, as `load_settings` takes them."""
        return {"kb": self.kb or None, "log_level": self.log_level}


def pair(option: str, text: str) -> tuple[str, str]:
    """`key=value` taken apart.

    Raises:
        ConfigError: there is no `=`, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"Invalid {option} {text!r}: expected KEY=VALUE, such as status=draft.", kind="option")
    return key.strip(), value


def exclusive(**given: object) -> None:
    """Refuse options that exclude each other.

    Raises:
        ConfigError: more than one of them was given.
    """
    names = [name for name, value in given.items() if value]
    if len(names) > 1:
        raise ConfigError(f"{' and '.join(names)} cannot be combined.", kind="option", hint="Give one of them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerOptions:
    """Which layers are meant, for commands on layers."""

    manifest: Annotated[str | None, typer.Option(metavar="FILE", help=about("manifest"))] = None
    personal: Annotated[str | None, typer.Option(metavar="DIR", help=about("personal"))] = None
    shared: Annotated[str | None, typer.Option(metavar="DIR", help=about("shared"))] = None

    def flags(self) -> Flags:
        """The settings among them, as `load_settings` takes them."""
        return {"manifest": self.manifest, "personal": self.personal, "shared": self.shared}
