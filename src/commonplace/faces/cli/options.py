"""What all commands take, and what checks their options.

A start of the server comes through here: nothing of the domain but its errors is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import typer

from commonplace.domain.errors import ConfigError
from commonplace.settings import Flags, Settings, about
from commonplace.settings.folders import names_layers

LAYERS_TOOLSET = "cascade"
"""The toolset of layers."""
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


AtOption: TypeAlias = Annotated[
    str,
    typer.Option("--at", metavar="WHEN", help="As it was: a date, 'yesterday', a commit or tag, 'before COMMIT'."),
]


def require_layers_alone(settings: Settings, *, paths: Sequence[str] | None, flags: Flags, toolset: str | None) -> None:
    """Refuse what cannot be served beside layers.

    Args:
        settings: The settings, which may name layers.
        paths: The folders that the command line names as arguments.
        flags: The common options of the command line, which name folders with -C.
        toolset: The toolset that the command line names.

    Raises:
        ConfigError: layers are named, and folders or another toolset are, too; or one of two layers is missing.
    """
    if not names_layers(settings):
        return
    layers = "--manifest" if settings.manifest is not None else "--personal and --shared"
    kb = flags.get("kb")
    folders = [*(paths or ()), *((kb,) if isinstance(kb, str) else kb or ())]
    if folders:
        raise ConfigError(
            f"The folders to serve come from {layers}, so {folders[0]!r} cannot be served beside them.",
            kind="manifest",
            hint="Add it to the manifest as a layer, or leave the layers out.",
        )
    if toolset not in {None, LAYERS_TOOLSET}:
        raise ConfigError(
            f"The layers of {layers} are served with the toolset {LAYERS_TOOLSET!r}, not with {toolset!r}.",
            kind="manifest",
            hint=f"Leave out --toolset {toolset}, or the layers.",
        )
