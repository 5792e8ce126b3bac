"""Options that all commands take, and their checks.

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
"""Help of `--adopt`."""

PageArgument: TypeAlias = Annotated[str, typer.Argument(metavar="PAGE", hidden=True)]
OptionalPageArgument: TypeAlias = Annotated[str | None, typer.Argument(metavar="PAGE", hidden=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Values of the options that every command takes."""

    kb: Annotated[
        list[str],
        typer.Option(
            "--kb",
            "-C",
            metavar="PATH",
            help="Folder of pages, or URL of a Git remote; may be repeated. Default: $COMMONPLACE_KB, else here.",
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
    """The layers, for commands on layers."""

    manifest: Annotated[str | None, typer.Option(metavar="FILE", help=about("manifest"))] = None
    personal: Annotated[str | None, typer.Option(metavar="DIR|URL", help=about("personal"))] = None
    shared: Annotated[str | None, typer.Option(metavar="DIR|URL", help=about("shared"))] = None

    def flags(self) -> Flags:
        """The settings among them, as `load_settings` takes them."""
        return {"manifest": self.manifest, "personal": self.personal, "shared": self.shared}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaOptions:
    """Which remotes are followed, for commands that serve."""

    replica_of: Annotated[
        list[str] | None, typer.Option("--replica-of", metavar="URL", help=about("replica_of"), show_default=False)
    ] = None
    replica_writes: Annotated[
        bool, typer.Option("--replica-writes", help=about("replica_writes"), show_default=False)
    ] = False
    replica_poll: Annotated[str | None, typer.Option("--replica-poll", metavar="N", help=about("replica_poll"))] = None
    engine_url: Annotated[
        list[str] | None, typer.Option("--engine-url", metavar="URL", help=about("engine_url"), show_default=False)
    ] = None

    def flags(self) -> Flags:
        """The settings among them, as `load_settings` takes them."""
        return {
            "replica_of": self.replica_of or None,
            "replica_writes": "true" if self.replica_writes else None,
            "replica_poll": self.replica_poll,
            "engine_url": self.engine_url or None,
        }


def require_consistent_replicas(settings: Settings) -> None:
    """Reject options of replicas that need others, or exclude them.

    Raises:
        ConfigError: remotes are named, and layers are, too; or nothing is followed, and an option needs a replica.
    """
    if settings.replica_of and names_layers(settings):
        raise ConfigError(
            "Layers and remotes to follow (--replica-of, COMMONPLACE_REPLICA_OF) are named.",
            kind="replica",
            hint="Name layers, or remotes to follow.",
        )
    if settings.replica_of:
        return
    if settings.replica_writes:
        raise ConfigError(
            "Writes to replicas are allowed, and nothing is followed.",
            kind="replica",
            hint="Name the repositories with --replica-of, or leave --replica-writes out.",
        )
    if settings.engine_url:
        raise ConfigError(
            "A search cluster is named, and nothing that is followed.",
            kind="engine",
            hint="Name the repositories with --replica-of, or leave --engine-url out. Layers are searched without it.",
        )


AtOption: TypeAlias = Annotated[
    str,
    typer.Option("--at", metavar="WHEN", help="State at a date, 'yesterday', a commit, a tag or 'before COMMIT'."),
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
