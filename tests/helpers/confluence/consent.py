"""A site with the servers of OAuth before it: consent in a browser, tokens that expire, and the gateway of the API."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlencode, urlsplit

from confluence.server import SiteHandler

GATEWAY = "/ex/confluence/cloud-1"
SECRET = "app secret"  # noqa: S105 - of an app on loopback


class ConsentHandler(SiteHandler):
    """Gives out tokens in turn; each new one ends the one before, and each refresh token works once."""

    def _get(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            granted = "offline_access" in query["scope"] and query["client_id"] == "app"
            answer = {"state": query["state"], **({"code": "c0de"} if granted else {"error": "access_denied"})}
            self._raw(302, b"", "text/plain", {"Location": f"{query['redirect_uri']}?{urlencode(answer)}"})
        elif parts.path == "/oauth/token/accessible-resources":
            self._send(200, [{"id": "cloud-1", "url": self.server.url, "name": "x"}] if self._token() else {})
        elif "/child/attachment/" in parts.path and parts.path.endswith("/download"):
            page, file = self.server.site.pages[parts.path.split("/")[-5]], parts.path.split("/")[-2]
            contents = {self._file(page, name)["id"]: page.files[name][1] for name in page.files}
            self._send(200, contents[file]) if self._token() else self._send(401, {})
        else:
            self._behind_gateway()

    def _post(self) -> None:
        if self.path != "/oauth/token":
            self._behind_gateway()
            return
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server, proof = self.server, request.get("code") or request.get("refresh_token")
        valid = (request["client_id"], request["client_secret"]) == ("app", SECRET)
        if not valid or proof not in {"c0de", f"refresh {server.granted}"}:
            self._send(403, {"error": "invalid_grant", "error_description": "Unknown or invalid refresh token."})
            return
        server.granted += 1
        token = f"access-{server.granted}-secret"
        server.tokens = {token}
        self._send(200, {"access_token": token, "refresh_token": f"refresh {server.granted}", "expires_in": 3600})

    def _behind_gateway(self) -> None:
        if not self.path.startswith(GATEWAY):
            self._send(404, {})
            return
        self.path = self.path.removeprefix(GATEWAY)
        self._handle()

    do_GET, do_POST, do_PUT = _get, _post, _behind_gateway  # noqa: N815 - names of the standard library
