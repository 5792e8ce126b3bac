"""The words of pages in each language: whole catalogues, amounts, times, and pages of a base that declares one."""

from __future__ import annotations

import re
import time
from pathlib import Path

from asgi.browsing import Pages
from commonplace.domain.site_file import LANGUAGES, read_site
from commonplace.faces.web.exchange import View
from commonplace.faces.web.messages import message_catalogue
from commonplace.faces.web.pages import TEMPLATES
from commonplace.faces.web.views.agent import agent
from commonplace.faces.web.views.changes import commit, compare, history, recent
from commonplace.faces.web.views.document import document, sections
from commonplace.faces.web.views.home import home
from commonplace.faces.web.views.lists import tags, timeline, tree, types
from commonplace.faces.web.views.quality import broken, wanted
from commonplace.faces.web.views.search import search
from support import new_repo

SCRIPTS = TEMPLATES.parent / "browser" / "src"
PLACES = re.compile(r"\{\w+\}")
GERMAN = {
    "commonplace.yaml": "language: de\nnavigation:\n  - Home.md\n",
    "Home.md": "# Hafen\n",
    "Alt.md": "---\nstatus: superseded\nsuperseded_by: Home\n---\n# Alt\n\n## Teil\n\nx\n",
    "weg.md": "# Weg\n",
    "Teile.md": "# Teile\n\n> [!warning]\n> x\n\n!!! tip\n\n    x\n\n::: seealso\nx\n:::\n\n| a |\n|---|\n| b |\n\n"
    "- [ ] offen\n- [x] fertig\n\nFuß[^1], [[Fehlt]], [x](fehlt.png), [[Home#Nichts]].\n\n[^1]: Note.\n",
}
IN_GERMAN = (
    '<p class="callout-title">Warnung</p>',
    '<p class="callout-title">Tipp</p>',
    '<p class="callout-title">Siehe auch</p>',
    'aria-label="Tabelle"',
    'aria-label="Zu erledigen"',
    'aria-label="Erledigt"',
    'aria-label="Fußnote 1"',
    'aria-label="Zurück zum Text"',
    'title="Diese Seite gibt es noch nicht"',
    'title="Diese Datei gibt es nicht"',
    "keine Überschrift und keinen Block „Nichts“",
)
"""What the page `Teile` has of the words around its text."""


def test_every_catalogue_has_what_templates_and_scripts_ask_for() -> None:
    templates = "".join(path.read_text("utf-8") for path in TEMPLATES.iterdir())
    asked = {key.replace("\\'", "'").replace('\\"', '"') for key in re.findall(r"\b_\('((?:[^'\\]|\\.)*)'", templates)}
    scripts = "".join(path.read_text("utf-8") for path in SCRIPTS.glob("*.js"))
    said = set(re.findall(r'\bt\("([^"]*)"', scripts))
    first = message_catalogue(LANGUAGES[1])
    assert asked
    assert said
    for language in LANGUAGES[1:]:
        words = message_catalogue(language)
        assert not asked - words.pages.keys(), language
        assert not said - words.scripts.keys(), language
        assert words.pages.keys() == first.pages.keys()
        assert words.scripts.keys() == first.scripts.keys()
        for english, text in [*words.pages.items(), *words.scripts.items()]:
            assert text.strip(), english
            assert sorted(PLACES.findall(english)) == sorted(PLACES.findall(text)), english


def test_amounts_and_times_are_those_of_the_language() -> None:
    german, french = message_catalogue("de"), message_catalogue("fr")
    assert (german.amount(1), german.amount(2_000, "link")) == ("1 Seite", "2.000 Links")
    assert french.thousands(1_234) == "1\u202f234"
    assert german.ago(int(time.time()) - 3 * 86_400) == "vor 3 Tagen"
    assert message_catalogue("zh").ago(int(time.time())) == "刚刚"
    assert german.text("Linked from {pages}", pages="<b>") == "Verlinkt von &lt;b&gt;"
    assert message_catalogue("en").text("no such key {x}", x=1) == "no such key 1"


def test_a_base_declares_the_language_of_its_pages(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "commonplace.yaml").write_text("language: de\n")
    (base / "Home.md").write_text("# Hafen\n\n## Eins\n\n[[Lotse]]\n\n## Zwei\n")
    (base / "Lotse.md").write_text("# Lotse\n")
    with Pages(tmp_path, base) as pages:
        shown = pages.view(home) + pages.view(document, "Lotse") + pages.view(search, q="Hafen")
    for expected in (
        '<html lang="de"',
        "Auf dieser Seite",
        "Verlinkt von 1 Seite",
        "Suche: <bdi>Hafen</bdi>",
        "Kopiert",
    ):
        assert expected in shown, expected
    for english in ("On this page", "Linked from", "Skip to the text", ">Properties<"):
        assert english not in shown, english


def test_no_page_for_reading_says_in_english_what_the_language_has_words_for(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", GERMAN)
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "weg.md")
    repo.commit("Zwei", **{"Home.md": "# Hafen\n\nanders\n"})
    last = repo.git("rev-parse", "HEAD")
    views: list[tuple[View, str, dict[str, str]]] = [
        (document, "Alt", {}),
        (document, "Home", {"at": first}),
        (document, "Teile", {}),
        (wanted, "", {}),
        (broken, "", {}),
        (search, "", {"q": "Hafen", "at": first}),
        (search, "", {"q": "alt"}),
        (search, "", {"q": "base:x y"}),
        (tree, "", {"at": first}),
        (document, "weg", {}),
        (history, "Home", {}),
        (compare, "Home", {"from": first, "to": last}),
        (commit, last, {}),
        (sections, "Alt", {}),
        (agent, "Alt", {}),
        (recent, "", {}),
        (timeline, "", {}),
        (tags, "", {}),
        (types, "", {}),
        (home, "", {}),
    ]
    english = [text for text in message_catalogue("de").pages if " " in text and not PLACES.search(text)]
    with Pages(tmp_path, repo.path) as pages:
        for view, path, query in views:
            body = view(pages.request(path, **query)).body.decode()
            shown = re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL)
            assert [text for text in english if text in shown] == [], (view, path)
            assert "Other pages" not in shown
        assert "Diese Seite ist ersetzt durch Home.md." in pages.view(document, "Alt")
        assert "ERSETZT durch" in pages.view(search, q="alt")
        parts = pages.view(document, "Teile")
        for expected in IN_GERMAN:
            assert expected in parts, expected
        assert "<h1>Gewünschte Seiten</h1>" in pages.view(wanted)


def test_an_unknown_language_is_a_finding() -> None:
    settings = read_site(b"language: tlh\n")
    assert settings.language == ""
    assert "must be one of en, de, es, fr, zh, ja." in settings.findings[0].message
