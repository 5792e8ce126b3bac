"""Writers of one folder for `ways.ledger`: agents on every face, an editor, and somebody who pulls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote

from mcp_types import CallToolResult

from agent import Agent, text_of
from serving import Answer, Server
from shell import Shell
from support import GitRepo
from ways.ledger import WORD, Ledger

DOCUMENTS = 20
LINES = 12
"""Lines of a document at which its writers begin anew."""
Act = Callable[[], str]


def name_of(number: int) -> str:
    """The path of a document without its suffix."""
    return f"d{number:02}"


def text_with(number: int, lines: Sequence[str]) -> str:
    """A document with frontmatter."""
    return f"---\ntitle: Document {number}\nstatus: open\n---\n\n# Tide {number}\n\n" + "".join(f"{x}\n" for x in lines)


@dataclass
class Known:
    """A document as a writer was shown it whole."""

    revision: str
    text: str


@dataclass
class Face:
    """The actions of one writer through one face; `acts` gives each action with its weight."""

    writer: str
    ledger: Ledger
    chance: Random
    known: dict[str, Known] = field(default_factory=dict)
    """The version of each document that this face last showed completely."""

    def acts(self) -> dict[Act, int]:
        """Acts by weight."""
        raise NotImplementedError

    def step(self) -> None:
        """Do one act."""
        acts = self.acts()
        (act,) = self.chance.choices(list(acts), list(acts.values()))
        name = f"{type(self).__name__}.{getattr(act, '__name__', '')}"
        self.ledger.step(self.writer, name, act)

    def document(self) -> str:
        """Some document, which need not be there."""
        return name_of(self.chance.randrange(DOCUMENTS))

    def likely(self) -> str:
        """A document that the face has shown, more often than not."""
        return self.chance.choice(sorted(self.known)) if self.known and self.chance.random() < 0.7 else self.document()

    def line(self) -> str:
        """A line that nobody else has written."""
        return f"tide {self.ledger.word(self.writer)} by {self.writer}"

    def body(self, text: str = "") -> str:
        """A new text: what is known of the old one with a line more, or something else."""
        lines = [line for line in text.splitlines() if WORD.search(line)]
        if len(lines) > LINES or self.chance.random() < 0.4:
            lines = []
        return "".join(f"{line}\n" for line in [*lines, self.line()])

    def told(self, text: str, *, refused: bool) -> str:
        """An answer, whose words the writer has seen now."""
        self.ledger.show(self.writer, text)
        self.ledger.counts["refused"] += refused
        assert "Internal error" not in text, text
        return text


@dataclass
class Kb(Face):
    """The toolset `kb` in a session, or over HTTP in none."""

    call: Callable[..., Any] = field(kw_only=True)
    """Calls a tool with arguments and returns its result."""
    base: str = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {
            self._read: 16, self._read_part: 4, self._search: 4, self._replace: 16, self._replace_at: 8,
            self._set_field: 20, self._link: 3, self._replace_by_receipt: 6, self._delete: 3, self._delete_at: 2,
            self._create: 3,
        }  # fmt: skip

    def _read(self) -> str:
        name = self.document()
        shown = self._ask("kb_get", entry_id=name)
        entry = json.loads(shown).get("entry")
        if entry:
            self.known[name] = Known(entry["revision"], entry["body"])
        return shown

    def _read_part(self) -> str:
        return self._ask("kb_get", entry_id=self.document(), body_limit=self.chance.choice([20, 60]))

    def _search(self) -> str:
        return self._ask("kb_search", query="tide", include_body=self.chance.random() < 0.5, limit=5)

    def _replace(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("", ""))
        return self._ask("kb_update", entry_id=name, body=self.body(known_value.text))

    def _replace_at(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("0" * 40, ""))
        return self._ask("kb_update", entry_id=name, body=self.body(known_value.text), revision=known_value.revision)

    def _set_field(self) -> str:
        return self._ask("kb_update", entry_id=self.document(), status=self.line())

    def _replace_by_receipt(self) -> str:
        """Pass on the revision that a write without reading answered with."""
        name = self.document()
        shown = self._ask("kb_update", entry_id=name, status=self.line())
        revision = json.loads(shown).get("revision")
        if not revision:
            return shown
        return f"{shown}\n{self._ask('kb_update', entry_id=name, body=self.body(), revision=revision)}"

    def _link(self) -> str:
        return self._ask("kb_link", source_id=self.document(), source_kb=self.base, target_id=self.document())

    def _delete(self) -> str:
        return self._ask("kb_delete", entry_id=self.likely())

    def _delete_at(self) -> str:
        name = self.likely()
        return self._ask("kb_delete", entry_id=name, revision=self.known.get(name, Known("0" * 40, "")).revision)

    def _create(self) -> str:
        title = f"Made {self.chance.randrange(5)}"
        return self._ask("kb_create", entry_type="note", title=title, body=self.line())

    def _ask(self, tool: str, **arguments: Any) -> str:
        named = {} if tool == "kb_link" else {"kb_name": self.base}
        result = self.call(tool, **arguments, **named)
        if isinstance(result, CallToolResult):
            return self.told(text_of(result), refused=result.is_error)
        return self.told(result["content"][0]["text"], refused=bool(result.get("isError")))


@dataclass
class Wiki(Face):
    """The toolset `wiki`."""

    agent: Agent = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {
            self._read: 12, self._read_section: 4, self._write: 14, self._write_at: 4, self._edit: 8, self._delete: 3,
            self._rename: 3,
        }  # fmt: skip

    def _read(self) -> str:
        name = self.document()
        shown = self._ask("read_note", path=name)
        lines = [line for line in shown.splitlines() if line.startswith("Revision: ")]
        if lines:
            self.known[name] = Known(lines[0].removeprefix("Revision: "), shown.partition("---\n\n")[2])
        return shown

    def _read_section(self) -> str:
        name = self.document()
        return self._ask("read_note", path=name, section=f"Tide {int(name[1:])}")

    def _write(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("", ""))
        return self._ask("write_note", path=name, content=self.body(known_value.text))

    def _write_at(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("0" * 40, ""))
        return self._ask("write_note", path=name, content=self.body(known_value.text), revision=known_value.revision)

    def _edit(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("0" * 40, "nothing"))
        old = self.chance.choice([line for line in known_value.text.splitlines() if line] or ["nothing"])
        return self._ask("edit_note", path=name, revision=known_value.revision, old_string=old, new_string=self.line())

    def _delete(self) -> str:
        return self._ask("delete_note", path=self.document())

    def _rename(self) -> str:
        return self._ask("rename_note", path=self.document(), new_path=self.document())

    def _ask(self, tool: str, **arguments: Any) -> str:
        result = self.agent.raw(tool, **arguments)
        return self.told(text_of(result), refused=result.is_error)


@dataclass
class Rest(Face):
    """The REST API."""

    server: Server = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {self._read: 12, self._put: 14, self._put_over: 3, self._patch: 6, self._delete: 2, self._rename: 2}

    def _read(self) -> str:
        name = self.document()
        answer = self._ask("GET", name)
        if answer.status == 200:
            self.known[name] = Known(answer.json["revision"], answer.json["content"])
        return answer.body.decode()

    def _put(self) -> str:
        name = self.likely()
        known_value = self.known.get(name)
        body: dict[str, Any] = {"content": self.body(known_value.text if known_value else "")}
        way = self.chance.randrange(3)
        if known_value and way == 0:
            body["revision"] = known_value.revision
        headers = {"If-Match": f'"{known_value.revision}"'} if known_value and way == 1 else {}
        return self._ask("PUT", name, body, headers=headers).body.decode()

    def _put_over(self) -> str:
        return self._ask("PUT", self.document(), {"content": self.body()}, headers={"If-Match": "*"}).body.decode()

    def _patch(self) -> str:
        name = self.likely()
        known_value = self.known.get(name, Known("0" * 40, "nothing"))
        old = self.chance.choice([line for line in known_value.text.splitlines() if line] or ["nothing"])
        body = {"revision": known_value.revision, "old_string": old, "new_string": self.line()}
        return self._ask("PATCH", name, body).body.decode()

    def _delete(self) -> str:
        return self._ask("DELETE", self.document()).body.decode()

    def _rename(self) -> str:
        name, other = self.document(), self.document()
        return self._ask("POST", name, {"new_path": other}, below="/rename").body.decode()

    def _ask(self, method: str, name: str, body: Any = None, *, below: str = "", **more: Any) -> Answer:
        answer = self.server.ask(method, f"/api/v1/pages/{quote(name)}{below}", body, **more)
        self.told(answer.body.decode(), refused=answer.status >= 400)
        return answer


@dataclass
class CommandLine(Face):
    """The command line, which reads and writes files or commits."""

    shell: Shell = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {self._read: 3, self._write: 4, self._force: 2, self._append: 2, self._set_field: 3, self._delete: 1}

    def _read(self) -> str:
        name = self.document()
        done = self.shell("read", name, "--json")
        if done.code == 0:
            self.known[name] = Known(done.json["revision"], done.json["text"])
        return self.told(done.text, refused=done.code != 0)

    def _write(self) -> str:
        name = self.likely()
        known_value = self.known.get(name)
        at = ["--revision", known_value.revision] if known_value else []
        return self._ask(name, *at, text=self.body(known_value.text if known_value else ""))

    def _force(self) -> str:
        return self._ask(self.document(), "--force", text=self.body())

    def _append(self) -> str:
        return self._ask(self.document(), "--append", text=self.line())

    def _set_field(self) -> str:
        return self._ask(self.document(), "--set", f"status={self.line()}")

    def _delete(self) -> str:
        return self._ask(self.document(), "--delete", "--force")

    def _ask(self, name: str, *options: str, text: str = "") -> str:
        commit = [] if self.chance.random() < 0.5 else ["--no-commit"]
        done = self.shell("write", name, *options, *commit, "--json", stdin=text)
        assert done.code in {0, 3, 4, 5, 10}, done.stderr
        return self.told(done.text + done.stderr, refused=done.code != 0)


@dataclass
class Editor(Face):
    """A person with an editor, who sees the file that is saved."""

    def acts(self) -> dict[Act, int]:
        return {
            self._add: 12,
            self._insert: 8,
            self._change_status: 12,
            self._tidy: 2,
            self._remove: 1,
            self._commit: 2,
        }

    def _add(self) -> str:
        return self._save(lambda lines: [*lines, self.line()])

    def _insert(self) -> str:
        return self._save(lambda lines: [*lines[: len(lines) // 2], self.line(), *lines[len(lines) // 2 :]])

    def _change_status(self) -> str:
        return self._save(lambda lines: [f"status: {self.line()}" if x.startswith("status:") else x for x in lines])

    def _tidy(self) -> str:
        number = self.chance.randrange(DOCUMENTS)
        return self._save(lambda _: text_with(number, [self.line()]).splitlines())

    def _remove(self) -> str:
        file = self.ledger.repo.path / f"{self.document()}.md"
        if file.exists():
            self.told(file.read_text(), refused=False)
            file.unlink()
        return ""

    def _commit(self) -> str:
        commit_all(self.ledger.repo)
        return ""

    def _save(self, change: Callable[[list[str]], list[str]]) -> str:
        file = self.ledger.repo.path / f"{self.document()}.md"
        text = file.read_text() if file.exists() else text_with(0, [])
        self.told(text, refused=False)
        beside = file.with_name(f".{file.name}.swp")
        beside.write_text("".join(f"{line}\n" for line in change(text.splitlines())))
        beside.rename(file)
        return ""


@dataclass
class Puller(Face):
    """Somebody else's commits, pulled into the folder; nobody looks at what that changes."""

    clone: GitRepo = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {self._pull: 1}

    def _pull(self) -> str:
        repo, clone = self.ledger.repo, self.clone
        clone.git("fetch", "--quiet")
        clone.git("reset", "--quiet", "--hard", "origin/main")
        for _ in range(self.chance.randrange(1, 4)):
            number = self.chance.randrange(DOCUMENTS)
            file = clone.path / f"{name_of(number)}.md"
            line = f"tide {self.ledger.word('a colleague')} by a colleague"
            file.write_text(text_with(number, [line]) if self.chance.random() < 0.5 else f"{_text(file)}{line}\n")
        commit_all(clone)
        clone.git("push", "--quiet", "origin", "HEAD:main")
        if self.chance.random() < 0.6:
            commit_all(repo)
        try:
            repo.git("pull", "--quiet", "--no-rebase", "--no-edit", "--strategy-option=theirs", "origin", "main")
        except AssertionError:  # Git overwrites no file that was changed and not committed
            if not (repo.path / ".git" / "MERGE_HEAD").exists():
                self.ledger.counts["not pulled"] += 1
                return ""
            repo.git("add", "--all")  # one side deleted what the other changed: it stays
            repo.git("commit", "--quiet", "--no-edit")
        repo.git("push", "--quiet", "origin", "HEAD:main")
        self.ledger.counts["pulled"] += 1
        return ""


def commit_all(repo: GitRepo) -> None:
    """Commit whatever is there."""
    repo.git("add", "--all")
    if repo.git("status", "--porcelain"):
        repo.git("commit", "--quiet", "--message", "By hand")


def _text(file: Any) -> str:
    return file.read_text() if file.exists() else ""
