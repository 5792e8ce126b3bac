"""Commands `serve` and `keys`: folders over HTTP, and the keys of those who may use the server."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace import WORKER_VARIABLE
from commonplace.domain.activity import WriteLimits
from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.domain.words.amounts import amount
from commonplace.faces.access.authentication import AccessKey, KeyStore, tier_named, write_limits
from commonplace.faces.cli.options import (
    LayerOptions,
    ReplicaOptions,
    require_consistent_replicas,
    require_layers_alone,
)
from commonplace.faces.cli.output import short_path
from commonplace.faces.cli.session import HttpOptions, Session
from commonplace.settings import Flags, Settings, about, names_layers, require_folders

MAX_SHOWN_URL = 60
"""Maximum length in characters of a wrong URL in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Options for the address and content of the server."""

    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help=about("host"), show_default=False)] = None
    port: Annotated[str | None, typer.Option(metavar="N", help=about("port"), show_default=False)] = None
    toolset: Annotated[str | None, typer.Option(metavar="NAME", help="What /mcp speaks; /mcp/NAME always works.")] = (
        None
    )
    tier: Annotated[str | None, typer.Option(metavar="read|propose|write|admin", help=about("tier"))] = None
    confirm: Annotated[str | None, typer.Option(metavar="always|bulk|never", help=about("confirm"))] = None
    commit: Annotated[str | None, typer.Option(metavar="manual|auto", help=about("commit"))] = None
    keys: Annotated[str | None, typer.Option("--keys", metavar="FILE", help=about("keys"), show_default=False)] = None
    node_url: Annotated[str | None, typer.Option("--node-url", metavar="URL", help=about("node_url"))] = None
    peer: Annotated[list[str] | None, typer.Option("--peer", metavar="URL", help=about("peer"))] = None
    public_url: Annotated[str | None, typer.Option("--public-url", metavar="URL", help=about("public_url"))] = None
    oauth_issuer: Annotated[str | None, typer.Option("--oauth-issuer", metavar="URL", help=about("oauth_issuer"))] = (
        None
    )
    oauth_audience: Annotated[
        str | None, typer.Option("--oauth-audience", metavar="NAME", help=about("oauth_audience"))
    ] = None
    oauth_client_id: Annotated[
        str | None, typer.Option("--oauth-client-id", metavar="ID", help=about("oauth_client_id"))
    ] = None
    rate_limit: Annotated[str | None, typer.Option("--rate-limit", metavar="N", help=about("rate_limit"))] = None
    allow_origin: Annotated[
        list[str] | None, typer.Option("--allow-origin", metavar="ORIGIN", help=about("allow_origin"))
    ] = None
    workers: Annotated[str | None, typer.Option("--workers", metavar="N", help=about("workers"))] = None
    sse: Annotated[bool, typer.Option("--sse", help="Also serve the older SSE transport, at /sse.")] = False
    allow_anonymous: Annotated[
        bool, typer.Option("--allow-anonymous", help="Serve other machines without a key: everybody may do everything.")
    ] = False

    def flags(self) -> Flags:
        """The settings among the options, for `load_settings`."""
        return {
            "host": self.host,
            "port": self.port,
            "toolset": self.toolset,
            "tier": self.tier,
            "confirm": self.confirm,
            "commit": self.commit,
            "keys": self.keys,
            "node_url": self.node_url,
            "peer": self.peer or None,
            "public_url": self.public_url,
            "oauth_issuer": self.oauth_issuer,
            "oauth_audience": self.oauth_audience,
            "oauth_client_id": self.oauth_client_id,
            "rate_limit": self.rate_limit,
            "workers": self.workers,
            "allow_origin": self.allow_origin or None,
        }


def serve_command(
    session: Session,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", hidden=True)] = None,
    *,
    listening: ServeOptions,
    replicas: ReplicaOptions,
    layers: LayerOptions,
) -> None:
    """Serve folders of Markdown over HTTP: pages for people at /, REST at /api/v1, MCP at /mcp, /health, /metrics.

    Examples:
        commonplace serve ~/notes
        commonplace serve ~/notes --toolset wiki --port 8090
        commonplace serve ~/notes --public-url https://notes.example.org
        commonplace serve --manifest layers.json
        commonplace serve --replica-of https://git.example.org/team/notes.git

    PATHs are the folders to serve, by default those of --kb. On 127.0.0.1 nobody needs a key until there is one; any
    other address needs one first: `commonplace keys create`.
    """
    given_values: Flags = {"kb": paths} if paths else {}
    settings = session.configured({**listening.flags(), **replicas.flags(), **layers.flags(), **given_values})
    require_layers_alone(settings, paths=paths, flags=session.flags, toolset=listening.toolset)
    require_consistent_replicas(settings)
    _require_complete_node(settings)
    _require_public_url(settings)
    is_named = names_layers(settings) or settings.replica_of
    if not is_named and session.dependencies.store_folder(settings.kb, settings) is None:
        require_folders(settings.kb)
    if WORKER_VARIABLE not in os.environ:
        session.out.message(session.dependencies.store_refusal(settings))  # calls get the same message
        session.out.message(_without_keys(settings))
        session.out.message(f"Opening {_sources(settings)}")  # before loading, which may take a second
        session.out.terminal.stderr.flush()
    sse = "beside" if listening.sse else "off"
    session.dependencies.serve_http(settings, HttpOptions(sse=sse, anonymous=listening.allow_anonymous))


def _require_complete_node(settings: Settings) -> None:
    """Reject settings with which other servers could not forward writes to this one."""
    for name, is_set in (("A node_url", bool(settings.node_url)), ("A peer", bool(settings.peer))):
        if not is_set or (settings.replica_writes and settings.cluster_secret):
            continue
        raise ConfigError(
            f"{name} is set, and not what it is for.",
            kind="replica",
            hint="Servers that share the writes of a repository need --replica-writes and a cluster_secret, too.",
        )


def _require_public_url(settings: Settings) -> None:
    """Reject a public URL by whose host no request could reach the server."""
    if settings.public_url is None:
        return
    scheme, _, rest = settings.public_url.partition("://")
    if scheme.lower() in {"http", "https"} and rest.partition("/")[0]:
        return
    raise ConfigError(
        f"Invalid --public-url: expected http:// or https:// and a host, got {settings.public_url[:MAX_SHOWN_URL]!r}.",
        kind="setting",
        hint="Give the URL that clients use, such as https://notes.example.org.",
    )


def _without_keys(settings: Settings) -> str:
    """A message if every caller needs a key and there is none; "" otherwise."""
    file = settings.keys
    if file is None or settings.api_key or settings.oauth_issuer or KeyStore(settings.state_dir, file).all():
        return ""
    command = f"commonplace keys create laptop --tier read --keys {shlex.quote(str(file))}"
    return f"Every caller needs a key, and {short_path(file)} has none. Run: {command}"


def _sources(settings: Settings) -> str:
    if settings.replica_of:
        return amount(len(settings.replica_of), "replica")
    if names_layers(settings):
        named = (settings.manifest, settings.personal, settings.shared)
        return "layers: " + ", ".join(str(path) for path in named if path is not None)
    return ", ".join(map(short_path, settings.kb))


KeysAction: TypeAlias = Literal["create", "list", "limit", "revoke"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """Limits of what a key may write, and the file of the keys."""

    folders: Annotated[
        list[str],
        typer.Option(
            "--folder",
            metavar="[NAME:]PATH",
            help="Write below this folder only, of collection NAME or of each; NAME: is all of it. Repeated: several.",
        ),
    ] = field(default_factory=list[str])
    types: Annotated[
        list[str], typer.Option("--type", metavar="TYPE", help="Write pages of this type only; repeated: several.")
    ] = field(default_factory=list[str])
    pages: Annotated[
        int | None, typer.Option("--pages-per-hour", metavar="N", min=0, help="Write at most N files an hour.")
    ] = None
    size: Annotated[
        int | None, typer.Option("--bytes-per-hour", metavar="N", min=0, help="Write at most N bytes an hour.")
    ] = None

    keys: Annotated[str | None, typer.Option("--keys", metavar="FILE", help=about("keys"), show_default=False)] = None

    @property
    def limits(self) -> WriteLimits:
        """The limits.

        Raises:
            InvalidInputError: a folder is not a path.
        """
        return write_limits(self.folders, self.types, self.pages, self.size)


def keys_command(
    session: Session,
    action: Annotated[KeysAction, typer.Argument(metavar="create|list|limit|revoke", hidden=True)],
    name: Annotated[str, typer.Argument(metavar="NAME", hidden=True)] = "",
    *,
    tier: Annotated[str, typer.Option(metavar="read|propose|write|admin", help="What the key may do.")] = "read",
    collection: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A collection that exists for the key; repeated: several. Default: all."),
    ] = None,
    how: LimitOptions,
) -> None:
    """Create, list, limit and revoke access keys of `commonplace serve`.

    Examples:
        commonplace keys create laptop --tier write
        commonplace keys create assistant --collection notes
        commonplace keys create bot --tier write --folder inbox --pages-per-hour 9
        commonplace keys list
        commonplace keys limit bot --folder notes: --folder team:drafts
        commonplace keys revoke laptop
        commonplace keys create bot --keys /etc/commonplace/keys.json

    A key is shown once, when it is created; only its SHA-256 is stored. `limit` replaces all limits of a key. Running
    servers heed every change at once.
    """
    keys = KeyStore(session.settings.state_dir, session.configured({"keys": how.keys}).keys)
    if action == "create":
        _create(session, keys, name, tier, (collection or None, how.limits))
    elif action == "list":
        _list(session, keys)
    elif action == "limit":
        key = keys.limit(name, how.limits)
        _say(session, {"limited": _json(key)}, f"{key.name} ({key.id}): {_scope(key)}.")
    else:
        key = keys.revoke(name)
        _say(session, {"revoked": _json(key)}, f"Revoked {key.name} ({key.id}).")


def _create(
    session: Session, keys: KeyStore, name: str, tier: str, scope: tuple[list[str] | None, WriteLimits]
) -> None:
    token, key = keys.create(name, tier_named(tier), *scope)
    _say(session, {"token": token, "key": _json(key)}, token)
    session.out.message(f"Created {key.name} ({key.id}, {key.tier}). The key above is not shown again.")


def _list(session: Session, keys: KeyStore) -> None:
    rows = keys.all()
    uses = [iso_timestamp(when) if (when := keys.last_use(key)) else "" for key in rows]
    lines = [
        f"{key.id}  {key.tier:<7}  {key.created}  {key.name}  {_scope(key)}; {use and 'last used '}{use or 'not used'}"
        for key, use in zip(rows, uses, strict=True)
    ]
    listed: list[Json] = [_json(key) | {"last_used": use or None} for key, use in zip(rows, uses, strict=True)]
    _say(session, {"keys": listed}, "\n".join(lines) or "There are no keys.")


def _say(session: Session, value: Mapping[str, Json], text: str) -> None:
    if session.out.as_json:
        session.out.json(value)
    else:
        session.out.line(text)


def _scope(key: AccessKey) -> str:
    limits = key.limits
    parts = [
        "all collections" if key.collections is None else ", ".join(key.collections),
        f"writes below {', '.join(limits.folders)}" if limits.folders else "",
        f"writes the types {', '.join(limits.types)}" if limits.types else "",
        f"{limits.pages:,} pages an hour" if limits.pages is not None else "",
        f"{limits.size:,} bytes an hour" if limits.size is not None else "",
    ]
    return "; ".join(filter(None, parts))


def _json(key: AccessKey) -> dict[str, Json]:
    names = None if key.collections is None else list(key.collections)
    limits = key.limits
    return {
        "id": key.id,
        "name": key.name,
        "tier": key.tier,
        "collections": names,
        "created": key.created,
        "folders": list(limits.folders),
        "types": list(limits.types),
        "pages_per_hour": limits.pages,
        "bytes_per_hour": limits.size,
    }
