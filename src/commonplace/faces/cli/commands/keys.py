"""`commonplace keys`: who may use the server from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.activity import WriteLimits
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.faces.access.authentication import AccessKey, KeyStore, tier_named, write_limits
from commonplace.faces.cli.session import Session
from commonplace.settings import about

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


def command(
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
