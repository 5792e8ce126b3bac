"""What is fuzzed: each function takes any bytes, and says by an exception that the product did not stand them.

`python fuzzed.py TARGET SECONDS` fuzzes by the coverage of branches (with the package atheris), starting with the files
of `corpus/TARGET`; new inputs go into a folder of the scratch directory, whose name is printed. The target `all` is all
of them, one after the other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha1
from importlib import import_module
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.edits import insert_text, remove_section, replace_once, replace_section
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.frontmatter import read_any_frontmatter, set_fields
from commonplace.domain.json import Json
from commonplace.domain.query_parser import exclusion_notice, parse_query
from commonplace.domain.records import build_record
from commonplace.domain.revisions import revision_of
from commonplace.store.git.index_file import DamagedIndexError, IndexEntry, UnsupportedIndexError, parse_index

CORPUS = Path(__file__).with_name("corpus")
MAX_BYTES = 2_000
HANG_SECONDS = 2
PAGE = Address("a.md")
ENTRY = IndexEntry("0" * 40, 0o100644, None)


def markdown(data: bytes) -> None:
    """A page is read; its sections follow each other and lie in it."""
    document = read_document(PAGE, data)
    assert document.raw == data
    build_record(document, revision_of(data))
    size = len(document.encoded)
    places = [(section.start, section.content, section.end) for section in document.sections]
    assert places == sorted(places)
    assert all(0 <= start <= content <= end <= size for start, content, end in places)
    for link in document.links:
        assert 0 <= link.span.start <= link.span.end <= size


def edits(data: bytes) -> None:
    """A section is replaced, removed and added to; no byte before it changes."""
    choice, _, rest = data.partition(b"\n")
    document = read_document(PAGE, rest)
    text = choice[1:].decode("utf-8", "replace")
    for section in document.sections[: 1 + (choice[0] & 3 if choice else 0)]:
        with suppress(KnowledgeError):
            assert replace_section(document, section, text).startswith(rest[: section.start])
        with suppress(KnowledgeError):
            assert remove_section(document, section).startswith(rest[: section.start].rstrip())
        with suppress(KnowledgeError):
            insert_text(document, section.end, text)
    with suppress(KnowledgeError):
        replace_once(document, text[:5], text[5:], occurrence=1)


def yaml(data: bytes, set_fields: Callable[[bytes, Mapping[str, Json]], bytes] = set_fields) -> None:
    """A field is set and removed: it has the value, and the text behind the front matter stays."""
    head, _, raw = data.partition(b"\n")
    value = head.decode("utf-8", "replace")
    with suppress(KnowledgeError):
        changed = set_fields(raw, {"title": value})
        assert read_any_frontmatter(changed).values["title"] == value
        removed = set_fields(changed, {"title": None})
        assert "title" not in read_any_frontmatter(removed).values


def git_index(data: bytes) -> None:
    """Git's index is read, and an entry of it changed; the checksum is made to fit, or nothing else would be tried."""
    raw = b"DIRC\0\0\0\2" + data
    with suppress(DamagedIndexError, UnsupportedIndexError):
        index = parse_index(raw + sha1(raw, usedforsecurity=False).digest())
        list(index.entries())
        index.id_of("a.md")
        parse_index(index.changed({"a.md": ENTRY, "b/c.md": None}).raw)


def query(data: bytes) -> None:
    """A search is parsed."""
    text = data.decode("utf-8", "replace")
    for demand in (True, False):
        exclusion_notice(text, parse_query(text, lambda words: words.lower().split(), demand=demand))


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (markdown, edits, yaml, git_index, query)
}


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target until it fails or the time is over."""
    atheris = import_module("atheris")
    for module in [module for module in sys.modules if module.startswith("commonplace")]:
        del sys.modules[module]  # to be loaded again with the counting of its branches
    with atheris.instrument_imports(include=["commonplace"]):
        targets = import_module("fuzzed").TARGETS
    new = tempfile.mkdtemp(prefix=f"fuzzed-{name}-")
    sys.stderr.write(f"new inputs go to {new}\n")
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MAX_BYTES}",
        f"-timeout={HANG_SECONDS}",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={new}/", new, str(CORPUS / name)], targets[name])
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "all":
        sys.exit(max(subprocess.call([sys.executable, __file__, name, sys.argv[2]]) for name in TARGETS))
    fuzz(sys.argv[1], int(sys.argv[2]))
