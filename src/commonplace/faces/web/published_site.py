"""Writes the pages of a base as files: the pages of the server, with relative links and without a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property, partial
from hashlib import blake2b
from html import escape
from importlib.util import find_spec
from itertools import chain, groupby
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from commonplace import build
from commonplace.domain.addresses import Address, address_or_none
from commonplace.domain.document_reader import fragment_marks
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError, install_command
from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.domain.navigation import Place
from commonplace.domain.query import Record, ResolvedLink
from commonplace.domain.site_file import ENGLISH, declared_site
from commonplace.domain.sources import url_parts
from commonplace.faces.web import shown
from commonplace.faces.web.appearance import Appearance, footer_html, picture_fits, style_sheet
from commonplace.faces.web.exchange import CardRow
from commonplace.faces.web.markup.code import language_and_direction
from commonplace.faces.web.markup.page import Renderer
from commonplace.faces.web.messages import message_catalogue
from commonplace.faces.web.navigation import NavigationHtml
from commonplace.faces.web.output_folder import OutputFolder, content_digest
from commonplace.faces.web.pages import TEMPLATES, assets, digest, environment
from commonplace.faces.web.published_files import PublishedFiles
from commonplace.faces.web.published_links import OWN, START, Outputs, from_root, relative_url
from commonplace.faces.web.published_search import SEARCH, write_search
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import MAX_SINGLE_LINKS, NearLinks, neighbours_by, parsed_document
from commonplace.services.site.publication import (
    PublishedPages,
    PublishReport,
    WrittenPage,
    earlier_pages,
    excluded_by,
    files_in,
    pages_and_others,
    previous_paths,
    published_collection,
    require_rules,
    select,
)
from commonplace.services.site.published_view import WITHHELD
from commonplace.services.sites import known_navigation, site_with
from commonplace.services.statuses import CollectionStatuses

MAX_BACKLINKS = 100
"""Maximum number of pages that are listed as linking to one page."""
MAX_COMMITS = 2_000
"""Maximum number of commits that are searched for renamed pages."""
FEED_ENTRIES = 30
"""Number of pages in the feed, those changed last."""
MAX_SHOWN = 300
"""Maximum number of characters of a value or message that an error repeats."""
NO_SEARCH = "The pages have no search, because its program is not installed. Run: {}. Then publish again."
NO_URL = "There is no sitemap and no feed: they need the address of the site, as `url` in commonplace.yaml or --url."
_REDIRECT = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Moved</title>'
    '<meta name="robots" content="noindex"><meta http-equiv="refresh" content="0; url={0}"><link rel="canonical" '
    'href="{0}"></head><body><p>This page is now <a href="{0}">here</a>.</p></body></html>\n'
)


def publish(
    collection: Collection, base: Path, out: Path, url: str, *, search: bool, cache: Path | None = None
) -> PublishReport:
    """Publish a base.

    Args:
        collection: The base.
        base: Its folder.
        out: The folder that is written; it is created if it is missing.
        url: Address of the site; "" for the one that the base declares.
        search: Whether to write a search index, if the program for it is installed.
        cache: Folder of the user's caches; None for no cache.

    Raises:
        InvalidInputError: the folder is not fit, `url` is not an address, or from `require_rules`.
        StorageError: the folder cannot be written.
    """
    if url and url_parts(url).scheme not in {"http", "https"}:
        raise InvalidInputError(
            f"Invalid --url {url[:MAX_SHOWN]!r}: it must begin with https:// or http://.",
            kind="url",
            hint="Give it whole, such as https://notes.example.org/.",
        )
    can_search = search and find_spec("pagefind") is not None
    errors = require_rules(collection, base)
    folder = OutputFolder(out, base, cache)
    report = Publication(collection, base, folder, f"{url.rstrip('/')}/" if url else "").run(search=can_search)
    missing = (NO_SEARCH.format(install_command("publish")),) if search and not can_search else ()
    return replace(report, notices=(*errors, *report.notices, *missing))


class Publication:
    """One publication of a base.

    Args:
        collection: The base.
        base: Its folder.
        folder: The folder that is written.
        url: Address of the site with a final slash; "" for the one that the base declares.
    """

    def __init__(self, collection: Collection, base: Path, folder: OutputFolder, url: str) -> None:
        settings = declared_site(collection.store)
        records = {record.address.path: record for record in collection.index.records()}
        stored = mapping_of(folder.private.get("former"))
        self._former, self._former_state = previous_paths(collection, records, MAX_COMMITS, stored)
        self._earlier = dict(earlier_pages(folder.state.get("pages")))
        folder.require_same(self._earlier, {*records, *(old for old, _, _ in self._former)})
        self._selection: PublishedPages = select(tuple(records.values()), settings.publish, collection.store.read)
        self._whole = collection
        left = [old for old, path, _ in self._former if path not in self._selection.records]
        ignored, self._other_files = pages_and_others(path for path in files_in(base) if path not in records)
        self._messages = message_catalogue(settings.language or ENGLISH)
        withheld = self._messages.plain(WITHHELD)
        self._collection, self._index_view, self._hidden = published_collection(
            collection, self._selection, settings.publish, (*left, *ignored), withheld
        )
        self._alone = Collections(lambda: [self._collection])
        navigation = known_navigation(folder.private.get("navigation"))
        self._site, self._known_navigation = site_with(collection, self._selection.records.values(), navigation)
        self._folder = folder
        self._url = url or settings.url
        self._files = PublishedFiles(collection.store, settings.publish, self._hidden, folder.private.get("sources"))
        start = self._site.start if self._site.start in self._selection.records else ""
        self._outputs = Outputs(
            self._selection.records, start, collection.name, self._files.attach, self._hidden, withheld
        )
        self._urls = Urls(collection.name)
        self._navigation = NavigationHtml(self._urls, collection.name, self._site.navigation, self._messages)
        self._links = NearLinks(self._collection)

    def run(self, *, search: bool) -> PublishReport:
        """Write everything that differs from what the folder has; `search` is whether there will be a search index."""
        self._search = search
        is_same = self._folder.state.get("site") == self._digest
        old = self._earlier if is_same else {}
        stale = self._stale(old)
        pages: dict[str, WrittenPage] = {}
        self._links.around(stale)
        for path in self._selection.records:
            if path in stale or path not in old or not self._folder.keeps(self._outputs.pages[path]):
                pages[path] = self._page(path)
            else:
                pages[path] = old[path]
        self._lists(is_same=is_same)
        used = dict.fromkeys(chain.from_iterable(page.files for page in pages.values()))
        files = [name for name in used if self._files.attach(name)]
        sources = self._frame(files)
        redirects = self._redirects()
        state: dict[str, object] = {"site": self._digest}
        state["pages"] = {
            path: {name: getattr(written, name) for name in WrittenPage.__slots__} for path, written in pages.items()
        }
        if search:
            outputs = [self._outputs.pages[path] for path in pages]
            state["search"] = write_search(self._folder, outputs, self._folder.state.get("search"))
        broken: dict[str, Json] = {path: list(links) for path, links in self._broken.items()}
        private: dict[str, Json] = {"names": self._names, "broken": broken, "former": self._former_state}
        private |= {"sources": sources, "navigation": self._known_navigation.as_json()}
        self._folder.finish(state, private)
        return PublishReport(
            pages=len(pages),
            rendered=len(stale),
            written=self._folder.written,
            removed=self._folder.removed,
            files=len(files),
            redirects=redirects,
            left_out=(*self._selection.left_out, *self._files.left_out.values()),
            broken=tuple((path, raw) for path, links in self._broken.items() for raw in links),
            searchable=search,
            notices=tuple(self._notices()),
        )

    def _notices(self) -> Iterator[str]:
        if not self._url:
            yield NO_URL
        for name in sorted(self._folder.foreign):
            yield f"{name} is left in the folder: it is not as the last publication wrote it. Remove or keep it."

    def _linked(self, path: str) -> tuple[list[str], list[str]]:
        out, back = self._links.around([path])[Address(path)]
        return sorted(address.path for address in out), sorted(address.path for address in back)

    @cached_property
    def _digest(self) -> str:
        """Changes with everything that every page may show: titles, order, appearance, templates, this program."""
        parts = [build(), digest(), self._site.navigation.version, self._url, self._style]
        settings = self._site.settings
        parts += [repr(replace(settings, hidden_keys=frozenset())), *sorted(settings.hidden_keys)]
        parts += [file.read_text(encoding="utf-8") for file in sorted(TEMPLATES.glob("published*.html"))]
        parts += [
            f"{path}\0{item.title}\0{self._outputs.pages[path]}" for path, item in self._selection.records.items()
        ]
        parts += [self._site.title, *self._pictures, str(self._search)]
        parts += [left_out.path for left_out in self._selection.left_out]
        parts += sorted(self._hidden)
        return blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()

    @cached_property
    def _style(self) -> str:
        return style_sheet(self._whole, self._site.settings)

    def _stale(self, old: Mapping[str, WrittenPage]) -> set[str]:
        """The pages to render: changed ones, those that show or name what changed, and two steps around links."""
        records = self._selection.records
        changed = {path for path, record in records.items() if path not in old or old[path].revision != record.revision}
        before = self._folder.earlier
        changed |= {
            path for path in old if any(self._files.attach(file) != (file in before) for file in old[path].files)
        }
        changed |= {path for path in old if path in records and old[path].notes != self._notes_of(path)}
        changed &= records.keys()
        self._links.around(changed)
        moved = {path for path in changed if path in old and sorted(old[path].targets) != self._linked(path)[0]}
        ends = moved | {target for path in moved for target in (*old[path].targets, *self._linked(path)[0])}
        self._links.around(ends & records.keys())
        around = changed | (ends & records.keys())
        return (
            around
            | self._reading(old, changed)
            | {element for path in ends & records.keys() for side in self._linked(path) for element in side}
        )

    def _reading(self, old: Mapping[str, WrittenPage], changed: AbstractSet[str]) -> set[str]:
        """The pages that show the text of changed ones, or whose links name parts of changed ones that have others."""
        earlier = {path: old[path].parts for path in changed & old.keys()}
        other_parts = {path for path, parts in earlier.items() if not parts or parts != self._parts(path)}
        reading = {
            path
            for path, page in old.items()
            if not (changed.isdisjoint(page.shown) and other_parts.isdisjoint(page.named))
        }
        return reading & self._selection.records.keys()

    def _parts(self, path: str) -> str:
        """A value that changes with the headings, elements and blocks of a page that links may name."""
        document = parsed_document(self._collection, self._selection.records[path].address)
        marks = fragment_marks(document)
        names = [*((*section.path, section.anchor) for section in document.sections), *marks.sources.items()]
        text = repr((names, list(marks.elements), list(marks.blocks)))
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def _page(self, path: str) -> WrittenPage:
        record = self._selection.records[path]
        self._files.used.clear()
        reads = self._index_view.reads
        reads.clear()
        text = parsed_document(self._collection, record.address)
        renderer = Renderer.of_files(self._alone, self._collection, self._urls, self._messages)
        lang, direction = language_and_direction(text)
        html = Markup(renderer.document(text))  # noqa: S704 - sanitized
        targets, back = self._linked(path)
        relinked = partial(self._outputs.relinked, output=self._outputs.pages[path])
        self._write(
            self._outputs.pages[path],
            "published.html",
            record=record,
            html=html,
            titled=shown.has_title_heading(text),
            outline=shown.outline(text, shown.parts(text)[:1], 1, ""),
            properties=shown.properties(renderer, self._with_shown_values(text), self._site.settings.hidden_keys),
            notes=self._status_notes.get(path, ()),
            status=shown.status_mark(self._statuses.at(record.address), self._messages),
            lapsed_sections=json.dumps(self._lapsed_sections.get(path, {})),
            navigation=self._navigation.whole(path),
            crumbs=self._crumbs(path),
            around=self._around(path),
            backlinks=[
                (self._urls.page(self._collection.name, text), self._title(text)) for text in back[:MAX_BACKLINKS]
            ],
            backlink_count=len(back),
            graph=shown.local_graph(
                self._urls,
                self._collection,
                record,
                neighbours_by(self._links.around([path]), self._collection, record.address),
                self._messages,
            ),
            forge=self._site.settings.edit_url.replace("{path}", quote(path)),
            description=shown.meta_description(html, record, self._site, relinked),
            lang=lang,
            dir=direction,
        )
        return WrittenPage(
            record.revision,
            targets=targets,
            files=sorted(set(self._files.used)),
            notes=self._notes_of(path),
            shown=sorted(address.path for address in reads.shown if address.is_document),
            named=sorted(address.path for address in reads.named - {record.address} if address.is_document),
            parts=self._parts(path),
        )

    @cached_property
    def _status_notes(self) -> Mapping[str, Sequence[CardRow]]:
        """The notes about the status of each page that declares one."""
        collection, words = self._collection, self._messages
        stated = collection.index.statuses()
        return {address.path: shown.status_notes(self._urls, collection, address, words) for address in stated}

    @cached_property
    def _statuses(self) -> CollectionStatuses:
        return CollectionStatuses(self._collection)

    @cached_property
    def _lapsed_sections(self) -> Mapping[str, Mapping[str, str]]:
        """The marks of the sections that do not hold, by page and anchor."""
        marks: dict[str, dict[str, str]] = {}
        for address in self._statuses.declared:
            if any(declared.ordinal for declared in self._statuses.lapsed_in(address)):
                for section in self._collection.index.document(address).sections:
                    if mark := shown.status_mark(self._statuses.at(address, section.ordinal), self._messages):
                        marks.setdefault(address.path, {})[section.anchor] = mark
        return marks

    def _notes_of(self, path: str) -> list[str]:
        notes = [f"{note.about} {note.url}" for note in self._status_notes.get(path, ())]
        notes += [f"{anchor} {mark}" for anchor, mark in self._lapsed_sections.get(path, {}).items()]
        if path in self._broken:
            notes.append(content_digest(repr(self._broken[path]).encode("utf-8", "replace")))
        return notes

    def _with_shown_values(self, text: Document) -> Document:
        return replace(text, frontmatter=replace(text.frontmatter, values=self._index_view.shown_values(text)))

    def _title(self, path: str) -> str:
        return self._selection.records[path].title

    def _crumbs(self, path: str) -> list[tuple[str, str]]:
        place = self._site.navigation.places.get(path, ())
        crumbs: list[tuple[str, str]] = []
        for depth, node in enumerate(self._site.navigation.ancestors(place), 1) if place else ():
            own = self._urls.page(self._collection.name, node.path) if node.path else ""
            crumbs.append((self._navigation.title(node), own or self._navigation.section_url(place[:depth])))
        return [(self._site.title, "/"), *crumbs] if self._outputs.pages[path] != START else []

    def _around(self, path: str) -> list[tuple[str, str, str]]:
        pairs = zip(("prev", "next"), self._site.navigation.around(path), strict=True)
        name = self._collection.name
        return [(rel, self._urls.page(name, element), self._title(element)) for rel, element in pairs if element]

    def _write(self, output: str, template: str, **values: object) -> None:
        """Write a page from a template."""
        self._folder.put(output, self._rendered(output, template, **values).encode("utf-8", "replace"))

    def _rendered(self, output: str, template: str, **values: object) -> str:
        """A page from a template, with links relative to its file."""
        settings = self._site.settings
        html = (
            environment(self._messages.language)
            .get_template(template)
            .render(
                urls=self._urls,
                site=self._site.title,
                look=self._appearance,
                root=relative_url(START, output).removesuffix(START) or "./",
                canonical=f"{self._url}{quote(output.removesuffix(START))}"
                if self._url and output != "404.html"
                else "",
                search=relative_url(f"{SEARCH}/pagefind.js", output) if self._search else "",
                results=relative_url(f"{OWN}/search.html", output),
                tags=relative_url(f"{OWN}/tags.html", output) if self._tags else "",
                feed=relative_url(f"{OWN}/feed.atom", output) if self._url else "",
                has_footer=bool(settings.footer),
                **values,
            )
        )
        return self._outputs.relinked(html, output)

    @cached_property
    def _appearance(self) -> Appearance:
        logo, favicon = (
            self._urls.file(self._collection.name, picture) if picture else "" for picture in self._pictures
        )
        return Appearance(
            logo=logo,
            favicon=favicon,
            style=self._urls.view("style", self._collection.name, "") if self._style else "",
            footer=self._footer(),
        )

    @cached_property
    def _pictures(self) -> tuple[str, str]:
        """The paths of the logo and of the favicon; "" for one that is not shown."""
        settings = self._site.settings
        logo, favicon = (
            path if picture_fits(self._whole, path) and self._files.attach(path) else ""
            for path in (settings.logo, settings.favicon)
        )
        return logo, favicon

    def _footer(self) -> Markup:
        renderer = Renderer(self._alone, self._collection, self._urls)
        return footer_html(renderer, self._site.settings.footer)

    @cached_property
    def _tags(self) -> Mapping[str, Sequence[Record]]:
        """The pages with each tag, by the output file of its list."""
        tags: dict[str, list[Record]] = {}
        for record in self._selection.records.values():
            for tag in record.tags:
                tags.setdefault(self._outputs.tag(tag), []).append(record)
        return dict(sorted(tags.items()))

    def _lists(self, *, is_same: bool) -> None:
        """Write the sections of the navigation, the tags, the page of a search, and that of an unknown address.

        Args:
            is_same: Whether the last publication had the same navigation, so that its sections are kept.
        """
        for place, title in self._sections():
            output = self._outputs.section(".".join(map(str, place)) or "all")
            if not (is_same and self._folder.keeps(output)):
                rows = self._navigation.section(place, limit=0)
                self._write(output, "published_list.html", heading=title, rows=rows, pages=[])
        self._tag_lists()
        if not self._outputs.pages or START not in self._outputs.pages.values():
            rows = self._navigation.section((), limit=0)
            self._write(START, "published_list.html", heading=self._site.title, rows=rows, pages=[])
        self._write(f"{OWN}/search.html", "published_search.html", heading=self._messages.text("Search"), missing=False)
        self._write_missing()

    def _tag_lists(self) -> None:
        """Write the pages of each tag, and the list of tags."""
        names: dict[str, str] = {}
        for record in self._selection.records.values():
            for tag in record.tags:
                names.setdefault(self._outputs.tag(tag), tag)
        for output, records in self._tags.items():
            self._write(output, "published_list.html", heading=f"#{names[output]}", rows="", pages=self._rows(records))
        if self._tags:
            rows = [(f"/tags/{quote(names[output], safe='')}", f"#{names[output]}") for output in self._tags]
            self._write(
                f"{OWN}/tags.html", "published_list.html", heading=self._messages.text("Tags"), rows="", pages=rows
            )

    def _rows(self, records: Iterable[Record]) -> list[tuple[str, str]]:
        return [(self._urls.page(self._collection.name, record.address.path), record.title) for record in records]

    def _sections(self) -> Iterator[tuple[Place, str]]:
        """Every section of the navigation with its title."""
        yield (), self._site.title
        pending: list[tuple[Place, str]] = [((), "")]
        while pending:
            place, _ = pending.pop()
            for at, node in enumerate(self._site.navigation.children(place)):
                if node.children:
                    pending.append(((*place, at), node.title))
                    yield (*place, at), self._navigation.title(node)

    def _write_missing(self) -> None:
        """Write the page for unknown addresses, which a host shows at any address: its links begin at the root."""
        html = self._rendered(
            "404.html", "published_search.html", heading=self._messages.text("Not found"), missing=True
        )
        self._folder.put("404.html", from_root(html, url_parts(self._url).path or "/").encode("utf-8", "replace"))

    def _frame(self, files: Iterable[str]) -> dict[str, Json]:
        """Write styles, scripts, pictures and other files, the feed and the list of addresses for search engines.

        Returns:
            What the next publication may know of the files.
        """
        for name, asset in assets().items():
            if name not in {"app.js", "graph.js", "editor.js"}:
                self._folder.put(f"{OWN}/static/{name}", asset.content)
        if self._style:
            self._folder.put(f"{OWN}/style.css", self._style.encode())
        sources = self._files.write(self._folder, dict.fromkeys([*files, *filter(None, self._pictures)]))
        self._folder.put(".nojekyll", b"")
        if self._url:
            self._folder.put("sitemap.xml", self._sitemap().encode())
            self._folder.put("robots.txt", f"User-agent: *\nAllow: /\nSitemap: {self._url}sitemap.xml\n".encode())
            self._folder.put(f"{OWN}/feed.atom", self._feed().encode())
        return sources

    def _address(self, path: str) -> str:
        return f"{self._url}{quote(self._outputs.pages[path].removesuffix(START))}"

    def _sitemap(self) -> str:
        rows = [
            f"<url><loc>{escape(self._address(path))}</loc>"
            + (f"<lastmod>{record.updated[:10]}</lastmod>" if record.updated else "")
            + "</url>"
            for path, record in self._selection.records.items()
        ]
        head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        return head + "\n".join(rows) + "\n</urlset>\n"

    def _feed(self) -> str:
        """The pages changed last, as Atom."""
        records = sorted(
            self._selection.records.values(), key=lambda record: (record.updated, record.address.path), reverse=True
        )
        rows = [
            f"<entry><title>{escape(item.title)}</title><id>{escape(self._address(item.address.path))}</id>"
            f'<link href="{escape(self._address(item.address.path))}"/><updated>{item.updated[:19]}Z</updated></entry>'
            for item in records[:FEED_ENTRIES]
            if item.updated
        ]
        newest = records[0].updated[:19] if records and records[0].updated else "1970-01-01T00:00:00"
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
            f"<title>{escape(self._site.title)}</title><id>{escape(self._url)}</id><updated>{newest}Z</updated>\n"
            f"<author><name>{escape(self._site.title)}</name></author>\n"
            f'<link rel="self" href="{escape(self._url)}{OWN}/feed.atom"/>\n' + "\n".join(rows) + "\n</feed>\n"
        )

    def _redirects(self) -> int:
        """Write a page that leads on for each former address of a page that has no page of its own."""
        count = 0
        records = self._selection.records
        former = [(old, path) for old, path, _ in self._former if path in records]
        for old, path in [*former, *self._declared_redirects()]:
            output = Outputs((old,), "", "", bool).pages[old]
            if self._folder.has(output) or excluded_by(old, self._site.settings.publish):
                continue
            self._folder.put(output, _REDIRECT.format(escape(relative_url(self._outputs.pages[path], output))).encode())
            count += 1
        return count

    def _declared_redirects(self) -> Iterator[tuple[str, str]]:
        """The addresses that pages name as their former ones: `redirect_from`, and aliases with a leading slash."""
        for path, record in self._selection.records.items():
            for alias in record.aliases:
                bare = alias.strip("/").removesuffix(".html")
                if alias.startswith("/") and bare and address_or_none(bare) is not None:
                    yield f"{bare}/index.md" if alias.endswith("/") else f"{bare}.md", path

    @cached_property
    def _broken(self) -> Mapping[str, Sequence[str]]:
        """The links of published pages that lead nowhere in the base, either, by page.

        While there are the same names and files, those of unchanged pages are known from the last publication.
        """
        records, private = self._selection.records, self._folder.private
        changed = sorted(path for path, record in records.items() if not self._is_as_published(path, record))
        index = self._whole.index
        if len(changed) > MAX_SINGLE_LINKS or private.get("names") != self._names:
            return _links_by_page(index.broken(), records)
        stored = {path: [*map(text_of, list_of(raw))] for path, raw in mapping_of(private.get("broken")).items()}
        links = chain.from_iterable(index.broken(records[path].address) for path in changed)
        fresh = _links_by_page(links, records)
        every = {**stored, **dict.fromkeys(changed, ()), **fresh}
        return {path: every[path] for path in records if every.get(path)}

    def _is_as_published(self, path: str, record: Record) -> bool:
        return path in self._earlier and self._earlier[path].revision == record.revision

    @cached_property
    def _names(self) -> str:
        """Changes with all that decides whether a link leads somewhere, besides the text of its page."""
        whole = self._whole.index
        parts = [build(), repr(whole.surroundings().sites), *sorted(self._other_files)]
        parts += [f"{record.address.path}\0{record.title}\0{record.id}\0{record.aliases}" for record in whole.records()]
        return content_digest("\n".join(parts).encode("utf-8", "replace"))


def _links_by_page(links: Iterable[ResolvedLink], pages: Mapping[str, object]) -> dict[str, Sequence[str]]:
    """The links of each of some pages as they are written; those of one page follow each other."""
    by_page = groupby(links, lambda link: link.source.path)
    return {path: [link.link.raw for link in of_page] for path, of_page in by_page if path in pages}
