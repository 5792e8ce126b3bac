"""Forms of the pages for people, sent as a browser without scripts sends them."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import urlencode

from serving import Answer, Server

HTML = {"Accept": "text/html"}
FORM = "application/x-www-form-urlencoded"


def sent(server: Server, path: str, /, *, key: str = "", origin: str | None = None, **fields: str) -> Answer:
    """The response to a form of a page of the server; `origin` "" sends none."""
    headers = {**HTML, "Content-Type": FORM, "Origin": server.url if origin is None else origin}
    lines = {name: text.replace("\r\n", "\n").replace("\n", "\r\n") for name, text in fields.items()}
    body = urlencode(lines).encode()
    return server.ask("POST", path, body, key=key, headers={name: text for name, text in headers.items() if text})


def page(server: Server, path: str, *, key: str = "") -> str:
    """The HTML at a path, once the server has an index."""
    answer = server.ask("GET", path, headers=HTML, key=key)
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers=HTML, key=key)
    assert answer.status == 200, (answer.status, answer.body)
    return answer.body.decode()


def fields(html: str, form: str = '<form class="(?:edit|merge)-form"') -> dict[str, str]:
    """The fields of a form as it is shown, without its buttons; of radio buttons the checked ones."""
    start = re.search(form, html)
    assert start, html
    inside = html[start.start() : html.index("</form>", start.start())]
    result: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", inside):
        name, value = (re.search(rf'\b{what}="([^"]*)"', tag) for what in ("name", "value"))
        if name and ('type="radio"' not in tag or " checked" in tag):
            result[name[1]] = unescape(value[1]) if value else "on"
    for name, text in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', inside, re.DOTALL):
        result[name] = unescape(text)
    return result


def edited(server: Server, path: str, change: Callable[[str], str], word: str, *, key: str = "") -> str:
    """Edit a page as a person does, who merges what others wrote meanwhile; `word` is in the changed text.

    Returns:
        `saved`, `merged`, `left` if others wrote during the merge, too, or `refused` with the status.
    """
    form = fields(page(server, path, key=key))
    answer = sent(server, path, key=key, **{**form, "text": change(form["text"]), "action": "save"})
    if answer.status == 303:
        return "saved"
    if answer.status != 409:
        return f"refused {answer.status}"
    html = answer.body.decode()
    if 'class="merge-form"' in html:
        answer = sent(server, path, key=key, **{**fields(html), "action": "merge"})
        assert answer.status == 200, answer.body
        html = answer.body.decode()
    merged = fields(html)
    assert word in merged["text"], "the own line is never dropped"
    answer = sent(server, path, key=key, **{**merged, "action": "save"})
    return "merged" if answer.status == 303 else "left"
