"""People decide on proposals in the browser, without scripts: whole, by page, by section, edited, or with a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser import needs_browser, opened, running
from browser.accessibility import violations
from commonplace.domain.activity import WriteLimits
from commonplace.faces.access.authentication import KeyStore
from commonplace.faces.access.callers import TIERS
from forms import HTML, fields, page, sent
from npm import needs_npm
from serving import Answer, Server, served
from support import Amount, GitRepo, new_repo

TEA = "# Tea\r\n\r\nBoil.\r\n\r\n## Green\r\n\r\nThree minutes.\r\n\r\n## Black\r\n\r\nFive minutes.\r\n"
FILES: dict[str, str | bytes] = {"tea.md": TEA, "about.md": "# About\n\nSee [[tea]] and [[Missing]].\n"}


@dataclass(frozen=True, slots=True)
class Site:
    """A server, its repository, and a key for each tier."""

    server: Server
    repo: GitRepo
    keys: dict[str, str]

    def write(self, tool: str, key: str = "propose", **arguments: object) -> None:
        """A write of an agent over MCP."""
        done = self.server.call("notes", tool, arguments, key=self.keys[key])
        assert not done.get("isError"), done

    def edit(self, name: str, *pairs: tuple[str, str], key: str = "propose") -> None:
        """Replace texts of a page, as an agent."""
        changes = [{"do": "replace", "old": old, "text": new} for old, new in pairs]
        self.write("edit", key, page=name, changes=changes)

    def proposal(self) -> tuple[str, str]:
        """The URL and the page of the newest open proposal, for a person with the tier write."""
        listed = page(self.server, "/proposals", key=self.keys["write"])
        match = re.search(r'href="(/proposals/[0-9a-z-]+)"', listed)
        assert match, listed
        return match[1], page(self.server, match[1], key=self.keys["write"])

    def form(self, path: str, of: str = '<form class="edit-form"', /, **changed: str) -> dict[str, str]:
        """The fields of a form as a person with the tier write gets them, with changes."""
        return fields(page(self.server, path, key=self.keys["write"]), of) | changed

    def send(self, path: str, /, **form: str) -> Answer:
        """The answer to a form of that person."""
        return sent(self.server, path, key=self.keys["write"], **form)

    def decide(self, url: str, html: str, action: str, tier: str = "write", **more: str) -> int:
        """Send the form of a decision; the status of the answer."""
        tip = re.search(r'name="tip" value="([0-9a-f]{40})"', html)
        assert tip, html
        return sent(self.server, url, key=self.keys[tier], tip=tip[1], action=action, **more).status


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = KeyStore(tmp_path / "state" / "commonplace")
    keys = {tier: store.create(f"Grace {tier}", tier)[0] for tier in TIERS}
    keys["other"] = store.create("Other", "propose")[0]
    keys["limited"] = store.create("Limited", "write", limits=WriteLimits(folders=("inbox",)))[0]
    repo = new_repo(tmp_path / "notes", FILES)
    with served(repo.path, "--commit", "auto") as server:
        page(server, "/p/tea", key=keys["read"])
        yield Site(server, repo, keys)


def test_a_person_sees_what_waits_and_accepts_all_of_it(site: Site) -> None:
    site.edit("tea", ("Three", "Two"), ("Five", "Four"))
    site.write("write", page="Missing.md", text="---\ntitle: Lost\n---\n# Missing\n\nSee [[nowhere]].\n")
    url, html = site.proposal()
    for words in ("Two", "Four", ">new</span>", "It would cause", "nowhere", "It would mend", "Grace propose"):
        assert words in html, words
    rendered = page(site.server, f"{url}?view=text", key=site.keys["write"])
    assert "<p>Two minutes.</p>" in rendered
    assert "<p>Three minutes.</p>" in rendered
    assert (rendered.count("Front matter"), "title: Lost" in rendered) == (1, True), "only where it changes"

    for key, sees in (("write", True), ("propose", True), ("read", False), ("other", False)):
        assert (" waits for a person." in page(site.server, "/", key=site.keys[key])) is sees, key
        assert ("is proposed for this page" in page(site.server, "/p/tea", key=site.keys[key])) is sees, key
    assert "is proposed for this page" not in page(site.server, "/history/tea", key=site.keys["write"])
    site.write("move", "write", page="tea.md", to="drinks/tea.md")
    assert "is proposed for this page" in page(site.server, "/p/drinks/tea", key=site.keys["write"])
    assert "Two" in page(site.server, f"{url}?file=drinks/tea.md", key=site.keys["write"])
    site.write("move", "write", page="drinks/tea.md", to="tea.md")
    part = page(site.server, f"{url}?file=tea.md", key=site.keys["write"])
    assert ("Show all of the proposal" in part, "Accept this page" in part, "Accept all of it" in part) == (
        True,
        True,
        False,
    )

    assert site.decide(url, html, "accept", word="Thank you") == 303
    assert (site.repo.path / "tea.md").read_bytes() == TEA.replace("Three", "Two").replace("Five", "Four").encode()
    assert site.repo.git("log", "-1", "--format=%an|%cn") == "Grace propose|Grace write"
    after = page(site.server, url, key=site.keys["propose"])
    assert "It was accepted" in after
    assert "Thank you" in after
    assert site.decide(url, html, "accept") == 409, "once"


def test_a_page_is_edited_and_reviewed_by_who_may_write_it(site: Site) -> None:
    site.write("write", "write", page="old.md", text="---\nreview_by: 2020-01-01\n---\n# Old\n")
    for key, may in (("write", True), ("propose", True), ("limited", False), ("read", False)):
        assert (">Edit<" in page(site.server, "/p/tea", key=site.keys[key])) is may, key
        assert ("Mark as reviewed" in page(site.server, "/review", key=site.keys[key])) is may, key
    assert [sent(site.server, "/reviewed/old", key=site.keys[key]).status for key in ("limited", "read")] == [403, 403]
    assert "2020-01-01" in (site.repo.path / "old.md").read_text()
    done = sent(site.server, "/reviewed/old", key=site.keys["write"])
    assert (done.status, done.headers["location"]) == (303, "/review")
    assert "reviewed_by: Grace write\n" in (site.repo.path / "old.md").read_text()
    assert "Nothing is to be reviewed" in page(site.server, "/review", key=site.keys["write"])


def decided(site: Site, *, edited: bool) -> Answer:
    """Accept a proposal as it is, or with a text of one's own."""
    site.edit("about", ("See", "Look at")) if edited else site.edit("tea", ("Three", "Two"))
    url, html = site.proposal()
    if edited:
        return site.send(f"{url}/edit", **site.form(f"{url}/edit?file=about.md", text="# About\n\nMine.\n"))
    return site.send(url, **fields(html, '<div class="decision"'), action="accept")


def ticked(site: Site) -> Answer:
    box = re.search(r'name="task" value="([^"]*)"', page(site.server, "/p/list", key=site.keys["write"]))
    assert box
    return site.send("/tick/list", **site.form("/p/list", '<form id="_ui-tasks"', task=box[1]))


def restored(site: Site) -> Answer:
    gone = site.server.ask("GET", "/p/pot", key=site.keys["write"], headers=HTML).body.decode()
    return site.send("/restore/pot", **fields(gone, '<form[^>]*class="restore"'))


def undone(site: Site) -> Answer:
    listed = page(site.server, "/activity", key=site.keys["write"])
    session = re.search(r'href="(/activity/[^"?]+)', listed)
    assert session, listed
    return site.send(session[1], commit=site.repo.git("rev-parse", "HEAD"), action="write")


def attached(site: Site) -> Answer:
    headers = {"Content-Type": "application/octet-stream", "Origin": site.server.url}
    return site.server.ask("PUT", "/attach/about?name=n.csv", b"hi", key=site.keys["write"], headers=headers)


def test_the_signed_in_person_is_author_and_committer_of_every_view_that_writes(site: Site) -> None:
    foot, review = '<form class="edit-foot" method="post"', "---\nreview_by: 2020-01-01\n---\n# Old\n"
    site.repo.commit("More", **{"list.md": "- [ ] Milk\n", "old.md": review, "pot.md": "# Pot\n"})
    text = "# Tea\n\nOther.\n\nThree minutes.\n"
    writes: dict[str, Callable[[], Answer]] = {
        "edit": lambda: site.send("/edit/tea", **site.form("/edit/tea", text=text)),
        "new": lambda: site.send("/new/", path="fresh", text="# Fresh\n"),
        "tick": lambda: ticked(site),
        "reviewed": lambda: site.send("/reviewed/old"),
        "attach": lambda: attached(site),
        "move": lambda: site.send("/move/old", **site.form("/move/old?to=new", foot)),
        "delete": lambda: site.send("/delete/pot", **site.form("/delete/pot", foot)),
        "restore": lambda: restored(site),
        "accept": lambda: decided(site, edited=False),
        "edit before accepting": lambda: decided(site, edited=True),
        "undo": lambda: undone(site),
    }
    for name, write in writes.items():
        head = site.repo.git("rev-parse", "HEAD")
        done = write()
        assert done.status in {200, 201, 303}, (name, done.status, done.body)
        assert site.repo.git("rev-parse", "HEAD") != head, name
        author = "Grace propose" if "accept" in name else "Grace write"
        assert site.repo.git("log", "-1", "--format=%an|%cn") == f"{author}|Grace write", name


def test_a_new_page_that_says_what_another_one_says_is_marked(site: Site) -> None:
    said = " ".join(f"word{number} and what follows it" for number in range(20))
    site.write("write", "write", page="first.md", text=f"# First\n\n{said}\n")
    site.write("write", page="copy.md", text=f"# Copy\n\n{said}\n")
    site.write("write", page="other.md", text="# Other\n\n" + " ".join(f"else{number}" for number in range(40)) + "\n")
    _, html = site.proposal()
    assert re.findall(r'It says nearly the same as <a href="/p/first">first</a>', html) == [
        'It says nearly the same as <a href="/p/first">first</a>'
    ]


def test_a_page_or_a_section_is_accepted_alone_and_the_rest_is_declined(site: Site) -> None:
    site.edit("tea", ("Three", "Two"), ("Five", "Four"))
    site.edit("about", ("See", "Look at"))
    url, html = site.proposal()
    assert site.decide(url, html, "accept", file="tea.md", section="Tea > Green") == 303
    confirmed = page(site.server, url, key=site.keys["write"])
    assert "Accepted so far; the rest waits" in confirmed
    assert "part of tea.md" in confirmed
    assert (site.repo.path / "tea.md").read_bytes() == TEA.replace("Three", "Two").encode()
    html = page(site.server, url, key=site.keys["write"])
    assert site.decide(url, html, "accept", file="about.md") == 303
    assert "Look at" in (site.repo.path / "about.md").read_text()
    html = page(site.server, url, key=site.keys["write"])
    assert "Four" in html
    assert site.decide(url, html, "decline", word="Five is right") == 303
    declined = page(site.server, url, key=site.keys["propose"])
    assert "Five is right" in declined
    assert re.findall(r"Accepted before|part of tea\.md|about\.md: <a", declined)[:3] == [
        "Accepted before",
        "part of tea.md",
        "about.md: <a",
    ]
    assert "accepted in part" in page(site.server, "/proposals", key=site.keys["propose"])
    assert (site.repo.path / "tea.md").read_bytes() == TEA.replace("Three", "Two").encode()


def test_a_person_edits_before_accepting_and_that_is_what_lands(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    site.edit("tea", ("Boil.", "Heat."), key="write")
    url, _ = site.proposal()
    form = fields(page(site.server, f"{url}/edit?file=tea.md", key=site.keys["write"]))
    assert form["text"] == TEA.replace("Three", "Two").replace("Boil.", "Heat.").replace("\r\n", "\n")
    form["text"] = form["text"].replace("Two minutes", "Two short minutes")
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **form).status == 303
    tea = TEA.replace("Three", "Two short").replace("Boil.", "Heat.")
    assert (site.repo.path / "tea.md").read_bytes() == tea.encode()
    assert "It was accepted" in page(site.server, url, key=site.keys["write"])


def test_a_write_made_while_the_form_was_open_is_merged_and_shown(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    url, _ = site.proposal()
    form = fields(page(site.server, f"{url}/edit?file=tea.md", key=site.keys["write"]))
    site.edit("tea", ("Five", "Six"), key="write")
    again = sent(site.server, f"{url}/edit", key=site.keys["write"], **form)
    assert again.status == 409
    html = again.body.decode()
    assert "has changed since you opened it" in html
    site.edit("tea", ("Boil.", "Heat."), key="write")
    form = fields(html)
    form["text"] = form["text"].replace("Boil.", "Cook.")
    both = sent(site.server, f"{url}/edit", key=site.keys["write"], **form)
    assert both.status == 409
    html = both.body.decode()
    for words in ("1 place was changed by both", "Boil.", "Heat.", "Cook."):
        assert words in html, words
    assert "Six" in (site.repo.path / "tea.md").read_text()
    form = fields(html) | {"choice-1": "mine", "action": "merge"}
    chosen = fields(sent(site.server, f"{url}/edit", key=site.keys["write"], **form).body.decode())
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **chosen).status == 303
    tea = TEA.replace("Three", "Two").replace("Five", "Six").replace("Boil.", "Cook.")
    assert (site.repo.path / "tea.md").read_bytes() == tea.encode()
    assert "It was accepted" in page(site.server, url, key=site.keys["write"])


def test_a_form_of_a_proposal_that_was_amended_is_merged_and_loses_nothing(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    url, _ = site.proposal()
    form = fields(page(site.server, f"{url}/edit?file=tea.md", key=site.keys["write"]))
    form["text"] = form["text"].replace("Boil.", "Heat.")
    site.edit("tea", ("Five", "Six"))
    html = sent(site.server, f"{url}/edit", key=site.keys["write"], **form).body.decode()
    assert "the proposal was amended since you opened it" in html
    assert "start again from the amended text" in html
    form = fields(html)
    assert [word in form["text"] for word in ("Heat.", "Two", "Six")] == [True] * 3
    form["text"] = form["text"].replace("Six", "Seven")
    site.edit("tea", ("Six", "Eight"))
    html = sent(site.server, f"{url}/edit", key=site.keys["write"], **form).body.decode()
    for words in ("The proposal has changed since", "As amended", "1 place was changed by both"):
        assert words in html, words
    assert (site.repo.path / "tea.md").read_bytes() == TEA.encode()
    chosen = fields(html) | {"choice-1": "mine", "action": "merge"}
    form = fields(sent(site.server, f"{url}/edit", key=site.keys["write"], **chosen).body.decode())
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **form).status == 303
    tea = TEA.replace("Boil.", "Heat.").replace("Three", "Two").replace("Five", "Seven")
    assert (site.repo.path / "tea.md").read_bytes() == tea.encode()
    assert "Co-authored-by: Grace write" in site.repo.git("log", "-1", "--format=%B")
    closed = sent(site.server, f"{url}/edit", key=site.keys["write"], **(form | {"text": "# Not lost\n"}))
    assert (closed.status, "# Not lost" in closed.body.decode()) == (409, True)
    del form["revision"]
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **form).status == 422


def test_a_part_that_would_break_links_alone_is_asked_for_and_keeps_the_word(site: Site) -> None:
    site.edit("tea", ("Three", "See [[new]]. Three"), ("Five", "Four"))
    site.write("write", page="new.md", text="# New\n")
    url, html = site.proposal()
    form = fields(html, '<form method="post" action="/proposals/') | {"word": "Only this", "file": "tea.md"}
    form.pop("action", None)
    asked = sent(site.server, url, key=site.keys["write"], **form).body.decode()
    for words in ("tea.md alone would cause", "&#39;new&#39; leads nowhere", "Only this"):
        assert words in asked, words
    assert "leads nowhere" in page(site.server, f"{url}?file=tea.md", key=site.keys["write"])
    section = form | {"part": "tea.md", "section:tea.md": "Tea > Black", "word": "Four is right"}
    del section["file"]
    assert sent(site.server, url, key=site.keys["write"], **section).status == 303
    assert (site.repo.path / "tea.md").read_bytes() == TEA.replace("Five", "Four").encode()
    _, html = site.proposal()
    assert "“Four is right”" in page(site.server, url, key=site.keys["propose"])
    form["tip"] = fields(html, 'id="_ui-decide"')["tip"]
    asked = sent(site.server, url, key=site.keys["write"], **form)
    sure = fields(asked.body.decode(), '<div class="callout-body">') | {"action": "accept"}
    assert sent(site.server, url, key=site.keys["write"], **sure).status == 303
    assert "See [[new]]" in (site.repo.path / "tea.md").read_text()
    assert "“Only this”" in page(site.server, url, key=site.keys["propose"])


def test_the_list_is_narrowed_and_several_are_declined_at_once(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    site.edit("about", ("See", "Look at"), key="other")
    listed = page(site.server, "/proposals?in=about", key=site.keys["write"])
    assert ("Other" in listed, "Grace propose" in listed) == (True, False)
    assert "Nothing that waits is so." in page(site.server, "/proposals?author=nobody", key=site.keys["write"])
    assert 'name="pick:' not in page(site.server, "/proposals", key=site.keys["propose"])
    picks = dict(
        re.findall(
            r'name="(pick:[0-9a-z-]+)" value="([0-9a-f]{40})"', page(site.server, "/proposals", key=site.keys["write"])
        )
    )
    assert len(picks) == 2
    for action, count, other in (("all", 2, "Select none"), ("none", 0, "Select all 2 of this list")):
        marked = sent(
            site.server, "/proposals", key=site.keys["write"], action=action, word="Not <now>", q="e", **picks
        )
        html = marked.body.decode()
        assert (html.count("checked>"), other in html, "Not &lt;now&gt;" in html) == (count, True, True), action
        assert 'name="q" value="e"' in html
    stale = dict.fromkeys(picks, "0" * 40)
    for key, form, status in (
        ("propose", picks, 403), ("write", {}, 422), ("write", stale, 409), ("write", picks, 303)
    ):  # fmt: skip
        done = sent(site.server, "/proposals", key=site.keys[key], action="decline", word="Not now", **form)
        assert done.status == status, done.body
    after = page(site.server, "/proposals?state=declined", key=site.keys["write"])
    assert after.count("Not now") == 2
    assert "Nothing that waits is so." in after


def test_a_conflict_is_edited_from_the_merge_with_only_that_place_open(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    site.edit("tea", ("Three", "Nine"), ("Boil.", "Heat."), ("Five", "Six"), key="write")
    url, _ = site.proposal()
    html = page(site.server, f"{url}/edit?file=tea.md", key=site.keys["write"])
    for words in ("1 place was changed by both", "As the proposer saw it", "As it is now", "Proposed", "Two minutes."):
        assert words in html, words
    form = fields(html) | {"choice-1": "mine", "action": "merge"}
    chosen = sent(site.server, f"{url}/edit", key=site.keys["write"], **form).body.decode()
    assert "the text that your choices give" in chosen
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **fields(chosen)).status == 303
    tea = TEA.replace("Three", "Two").replace("Boil.", "Heat.").replace("Five", "Six")
    assert (site.repo.path / "tea.md").read_bytes() == tea.encode()


def test_a_moved_page_is_edited_with_what_was_written_at_its_old_place(site: Site) -> None:
    site.write("move", page="tea.md", to="drinks/tea.md")
    site.edit("tea", ("Boil.", "Heat."), key="write")
    url, _ = site.proposal()
    form = fields(page(site.server, f"{url}/edit?file=drinks/tea.md", key=site.keys["write"]))
    assert "Heat." in form["text"]
    site.edit("tea", ("Five", "Six"), key="write")
    again = sent(site.server, f"{url}/edit", key=site.keys["write"], **form)
    assert again.status == 409
    assert sent(site.server, f"{url}/edit", key=site.keys["write"], **fields(again.body.decode())).status == 303
    tea = TEA.replace("Boil.", "Heat.").replace("Five", "Six")
    assert (site.repo.path / "drinks/tea.md").read_bytes() == tea.encode()


def test_a_section_without_a_conflict_is_accepted_beside_one(site: Site) -> None:
    site.edit("tea", ("Three", "Two"), ("Five", "Four"))
    site.edit("tea", ("Three", "Nine"), key="write")
    url, html = site.proposal()
    assert re.findall("<option>([^<]+)", html) == ["Tea &gt; Black"]
    assert "Accept this page" not in html
    assert "Accept all of it" not in html
    form = fields(html, '<div class="decision"')
    refused = sent(site.server, url, key=site.keys["write"], action="accept", **form)
    assert refused.status == 409
    assert "Use &#34;Edit before accepting&#34;" in refused.body.decode()
    assert site.decide(url, html, "accept", file="tea.md", section="Tea > Black") == 303
    tea = TEA.replace("Five", "Four").replace("Three", "Nine")
    assert (site.repo.path / "tea.md").read_bytes() == tea.encode()


def test_a_conflict_is_shown_and_not_guessed(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    site.edit("tea", ("Three", "Nine"), key="write")
    url, html = site.proposal()
    for words in ("A conflict at line 7", "Three minutes.", "Nine minutes.", "Two minutes."):
        assert words in html, words
    assert site.decide(url, html, "accept") == 409
    assert "Nine" in (site.repo.path / "tea.md").read_text()
    site.edit("tea", ("Two", "One"))
    assert site.decide(url, html, "decline") == 409, "it was amended since it was shown"


def test_each_tier_sees_and_decides_what_it_may(site: Site) -> None:
    site.edit("tea", ("Three", "Two"))
    url, html = site.proposal()
    for tier, status in (("read", 403), ("propose", 200), ("other", 404), ("write", 200), ("admin", 200)):
        assert site.server.ask("GET", url, key=site.keys[tier]).status == status, tier
        listed = site.server.ask("GET", "/proposals", key=site.keys[tier])
        assert (url in listed.body.decode()) == (status == 200), tier
    assert "/proposals" not in page(site.server, "/p/tea", key=site.keys["read"])
    for action in ("accept", "decline"):
        assert site.decide(url, html, action, "propose") == 403
        assert site.decide(url, html, action, "read") == 403
        assert site.decide(url, html, action, "other") == 404
    edit = f"{url}/edit?file=tea.md"
    assert site.server.ask("GET", edit, key=site.keys["propose"]).status == 403
    assert sent(site.server, url, key=site.keys["write"], action="accept").status == 422
    assert site.decide(url, html, "withdraw", "write") == 403
    assert site.decide(url, html, "withdraw", "propose") == 303
    assert (site.repo.path / "tea.md").read_bytes() == TEA.encode()
    for path in ("/proposals/../x", "/proposals/none", f"{url}/other"):
        assert site.server.ask("GET", path, key=site.keys["write"]).status == 404, path


@needs_browser
@needs_npm
@pytest.mark.xdist_group("browser")
@pytest.mark.timeout(300)
def test_everybody_can_decide_by_keyboard_alone(site: Site, amount: Amount) -> None:
    site.edit("tea", ("Three", "Two"), ("Five", "Four"))
    site.edit("tea", ("Five", "Nine"), key="write")
    site.write("write", page="Missing.md", text="# Missing\n\nSee [[nowhere]].\n")
    url, _ = site.proposal()
    with running() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        opened(tab, f"{site.server.url}/sign-in")
        tab.get_by_label("Key").fill(site.keys["write"])
        tab.keyboard.press("Enter")
        tab.wait_for_url("**/")
        paths = (url, f"{url}/edit?file=tea.md", "/proposals", f"{url}?view=text", f"{url}?view=inline")
        for path in paths[: amount(2, len(paths))]:
            opened(tab, f"{site.server.url}{path}")
            assert violations(tab) == [], path
        opened(tab, f"{site.server.url}{url}")
        for _ in range(60):
            tab.keyboard.press("Tab")
            if tab.evaluate("document.activeElement.textContent") == "Decline":
                break
        tab.keyboard.press("Shift+Tab")  # a proposal with a conflict is not accepted as a whole
        tab.keyboard.type("Not now")
        tab.keyboard.press("Tab")
        tab.keyboard.press("Enter")
        expect(tab.locator(".callout-title").first).to_contain_text("It was declined")
        context.close()
    assert "Not now" in page(site.server, url, key=site.keys["propose"])
