"""Credentials of a site: in the system's keyring if there is one, else in a file for its owner alone."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from commonplace.domain.errors import ConfigError, InvalidInputError, UnauthenticatedError
from commonplace.domain.sources import is_loopback, url_parts
from commonplace.toolsets.pages.rules.space import as_object, read_object

try:
    import keyring
    from keyring.errors import KeyringError
except ImportError:  # the extra `confluence` has it
    keyring = None
    KeyringError = OSError

SERVICE = "commonplace cn"
"""Name under which the keyring lists the credentials."""
Kind = Literal["basic", "bearer"]
_PATHS = frozenset({"wiki", "spaces", "display", "pages", "x", "rest", "plugins", "questions"})
"""Beginnings of the paths of pages; any other one is the context path of a Data Center."""


@dataclass(frozen=True, slots=True)
class OAuthApp:
    """An app of OAuth, and what renews its access tokens."""

    client: str
    secret: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    url: str = ""
    """URL that gives tokens."""


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials that authenticate a request."""

    kind: Kind
    """basic: e-mail and API token; bearer: a personal token of Data Center, or the access token of OAuth."""
    email: str
    token: str
    api: str = ""
    """URL of the API if it is not on the site's host: for scoped tokens and OAuth."""
    app: OAuthApp | None = None
    """The app that renews the token; None for a token that does not change."""

    def __repr__(self) -> str:
        return f"Login({self.kind}, {self.email})"

    @property
    def header(self) -> str:
        """Value of the header Authorization."""
        if self.kind == "bearer":
            return f"Bearer {self.token}"
        return "Basic " + base64.b64encode(f"{self.email}:{self.token}".encode()).decode()


def site_url(text: str) -> str:
    """The address of a site: scheme, host, and the context path of a Data Center, such as `https://acme.atlassian.net`.

    Raises:
        InvalidInputError: the text is no address of a site, or one to which a token would go unencrypted.
    """
    parts = url_parts(text if "://" in text else f"https://{text}")
    host = parts.hostname or ""
    if not host or parts.username or parts.scheme not in {"http", "https"}:
        raise InvalidInputError(f"{text!r} is no site; write one such as https://acme.atlassian.net.", kind="site")
    require_encrypted(f"{parts.scheme}://{parts.netloc}")
    context = parts.path.strip("/").partition("/")[0]
    is_page = context in _PATHS or "." in context or host.endswith(".atlassian.net")
    return f"{parts.scheme}://{parts.netloc.lower()}" + (f"/{context}" if context and not is_page else "")


def require_encrypted(site: str) -> None:
    """Allow a token to go to a site.

    Raises:
        InvalidInputError: it would go unencrypted.
    """
    parts = url_parts(site)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise InvalidInputError(
            "A token is only sent over https.", kind="site", hint=f"Write https://{parts.hostname or ''}."
        )


def save_login(site: str, login: Login, home: Path) -> str:
    """Keep the credentials of a site, and return where they are."""
    values = asdict(login)
    place = str(_file(home))
    if _in_keyring(site, json.dumps(values)):
        values |= {"token": "", "app": None}
        place = "the system's keyring"
    path = _file(home)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({**_logins(path), site: values}, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return place


def login_for(site: str, home: Path, environment: Mapping[str, str]) -> Login:
    """The credentials of a site: CN_TOKEN (with CN_EMAIL), else what `cn login` kept.

    Raises:
        UnauthenticatedError: there are none.
    """
    if token := environment.get("CN_TOKEN"):
        email = environment.get("CN_EMAIL", "")
        return Login("basic" if email else "bearer", email, token)
    values = as_object(_logins(_file(home)).get(site))
    if values.get("token") == "":
        values = as_object(json.loads(_from_keyring(site) or "{}"))
    token, email, kind = values.get("token"), values.get("email"), values.get("kind")
    if not isinstance(token, str) or not isinstance(email, str) or kind not in {"basic", "bearer"}:
        raise UnauthenticatedError(f"No login for {site}.", kind="site", hint=f"Run 'cn login {site}'.")
    return Login(cast("Kind", kind), email, token, str(values.get("api") or ""), _app_of(as_object(values.get("app"))))


def _app_of(values: Mapping[str, Any]) -> OAuthApp | None:
    names = ("client", "secret", "refresh", "url")
    return OAuthApp(*(str(values.get(name) or "") for name in names)) if values else None


def known_site(site: str, home: Path) -> str:
    """A site as the only login to its host names it, with its context path; the site itself if there is none."""
    sites = [name for name in _logins(_file(home)) if name == site or name.startswith(f"{site}/")]
    return sites[0] if len(sites) == 1 else site


def only_site(home: Path) -> str:
    """The site of the only login.

    Raises:
        InvalidInputError: there are logins for several sites.
        UnauthenticatedError: there is none.
    """
    sites = list(_logins(_file(home)))
    if not sites:
        raise UnauthenticatedError(
            "There is no login.", kind="site", hint="Run 'cn login' with your site, such as https://acme.atlassian.net."
        )
    if len(sites) > 1:
        listed = ", ".join(sites)
        raise InvalidInputError(f"There are logins for {listed}.", kind="site", hint="Name the site with --site.")
    return sites[0]


def _logins(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path.name} cannot be read: {error.strerror}.", kind="site") from None
    return dict(read_object(text, path.name))


def _file(home: Path) -> Path:
    return home / ".cn" / "credentials.json"


def _in_keyring(site: str, secret: str) -> bool:
    """Put a secret into the system's keyring; False if there is none that works."""
    if keyring is None:
        return False
    with suppress(KeyringError, RuntimeError, OSError):
        keyring.set_password(SERVICE, site, secret)
        return True
    return False


def _from_keyring(site: str) -> str | None:
    if keyring is not None:
        with suppress(KeyringError, RuntimeError, OSError):
            return keyring.get_password(SERVICE, site)
    return None
