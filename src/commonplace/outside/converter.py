"""The program that turns one file into Markdown. It runs in a process of its own (`conversion.py` starts it).

It limits itself before it reads anything: processor time, memory and size of files by the kernel, the network by a
namespace of its own where the kernel permits it, and always by a hook that refuses sockets and further programs.
"""

from __future__ import annotations

import csv
import ctypes
import io
import json
import re
import resource
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
MAX_ANSWER = 12 * 1024 * 1024
"""Maximum size of a converted text in bytes, as JSON."""
_MAX_PAGES = 2_000
"""Maximum number of pages of a PDF."""
_REFUSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "pty.")
_SLIDE = re.compile(r"<!-- Slide number: (\d+) -->")
_TOP_HEADING = re.compile(r"(?m)^# ")
_PICTURE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_INNER_LINK = re.compile(
    r"(?<!\\)\[((?:\\.|\[[^\[\]\n]{0,40}\]|[^\[\]\\\n]){0,400})\]\((?!\w[\w+.-]{0,20}:)[^()\s]{0,1000}(?:\s\"[^\"\n]{0,400}\")?\)"
)
_CORE = {"title": "dc:title", "author": "dc:creator", "date": "dcterms:created"}
_CHARSET = re.compile(rb"(?i)<meta[^>]+charset\s*=\s*[\"']?([\w-]{1,40})")
_MANY_BLANKS = re.compile(r"\n{3,}")


def main() -> None:
    """Convert the file that the arguments name: kind, path, path of the answer, URL, seconds, bytes of memory."""
    kind, path, answer, url, seconds, memory = sys.argv[1:7]
    _restrict(int(seconds), int(memory))
    try:
        values = _CONVERTERS[kind](Path(path), url)
    except MemoryError:
        values = {"problem": "Its conversion takes too much memory"}
    if "text" in values:
        text = _PICTURE.sub(r"\1", str(values["text"])).replace("[[", "\\[\\[").replace("\r\n", "\n").replace("\f", "")
        values["text"] = _MANY_BLANKS.sub("\n\n", text.replace("\0", ""))
    raw = json.dumps(values)
    if len(raw) > MAX_ANSWER:
        raw = json.dumps({"problem": f"Its text has more than {MAX_ANSWER:,} bytes"})
    Path(answer).write_text(raw, encoding="utf-8")


def _restrict(seconds: int, memory: int) -> None:
    for limit, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 2 * MAX_ANSWER),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower limit of the surroundings stays
            resource.setrlimit(limit, (value, value))
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    sys.addaudithook(_refuse)


def _refuse(event: str, _: tuple[object, ...]) -> None:
    if event.startswith(_REFUSED):
        raise PermissionError(event)


def _pdf(path: Path, _: str) -> dict[str, Any]:
    try:
        document = _pdf_documents()(path)
    except RuntimeError as error:  # of the library, which names its reason
        reason = "It is encrypted" if "password" in str(error).lower() else "It is damaged"
        return {"problem": reason}
    facts = document.get_metadata_dict()
    count = len(document)
    texts = [_pdf_page(document, number) for number in range(min(count, _MAX_PAGES))]
    parts = [f"## Page {number}\n\n{text}" for number, text in enumerate(texts, 1) if text]
    notes = [f"Only the first {_MAX_PAGES} of {count} pages were converted."] if count > _MAX_PAGES else []
    empty = sum(not text for text in texts)
    if empty:
        notes.append(f"{empty} of {count} pages have no text; they may be pictures of text.")
    day = re.match(r"D:(\d{4})(\d\d)(\d\d)", facts.get("CreationDate", ""))
    return {
        "text": "\n\n".join(parts),
        "title": facts.get("Title", ""),
        "author": facts.get("Author", ""),
        "date": "-".join(day.groups()) if day else "",
        "notes": notes,
    }


def _pdf_documents() -> Any:  # noqa: ANN401
    """The class of documents of the library for PDF, which has no types."""
    return import_module("pypdfium2").PdfDocument


def _pdf_page(document: Any, number: int) -> str:  # noqa: ANN401
    """The text of one page, converted as a document of one page, so that its number is known."""
    single, raw = _pdf_documents().new(), io.BytesIO()
    single.import_pages(document, [number])
    single.save(raw)
    single.close()
    raw.seek(0)
    return _marked_down("PdfConverter", raw, ".pdf").strip()


def _marked_down(converter: str, stream: io.BytesIO, suffix: str) -> str:
    from markitdown import StreamInfo, converters

    result = getattr(converters, converter)().convert(stream, StreamInfo(extension=suffix))
    return str(result.markdown)


def _office(kind: str) -> Callable[[Path, str], dict[str, Any]]:
    def convert(path: Path, _: str) -> dict[str, Any]:
        raw = path.read_bytes()
        text = _PICTURE.sub(r"\1", _marked_down(f"{kind.capitalize()}Converter", io.BytesIO(raw), f".{kind}"))
        text = without_inner_links(text)
        if kind == "pptx":
            text = _SLIDE.sub(r"## Slide \1", _TOP_HEADING.sub("### ", text))
        return {"text": text, **_zipped_facts(raw)}

    return convert


def without_inner_links(text: str) -> str:
    """A text with the words alone of links that lead to parts of its file, which are no pages of their own."""
    return _INNER_LINK.sub(r"\1", text)


def _zipped_facts(raw: bytes) -> dict[str, Any]:
    """Title, author and date in the properties of an Office file or in the package of an EPUB."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = archive.namelist()
        part = next((name for name in names if name == "docProps/core.xml" or name.endswith(".opf")), "")
        xml = archive.read(part).decode("utf-8", "replace") if part else ""
    has_macros = any(name.endswith("vbaProject.bin") for name in names)
    notes = ["It has macros, which were not run and are in the stored file."] if has_macros else []
    return {**{key: _element(xml, name) for key, name in _facts_in(part).items()}, "notes": notes}


def _facts_in(part: str) -> Mapping[str, str]:
    return {**_CORE, "date": "dc:date"} if part.endswith(".opf") else _CORE


def _element(xml: str, name: str) -> str:
    match = re.search(rf"<{name}\b[^>]*>([^<]*)</{name}>", xml)
    return unescape(match[1]).strip() if match else ""


def _html(path: Path, url: str) -> dict[str, Any]:
    from commonplace.outside.html_reader import read_html

    raw = path.read_bytes()
    named = _CHARSET.search(raw[:4_096])
    return read_html(_decoded(raw, named[1].decode() if named else ""), url)


def _text(path: Path, _: str) -> dict[str, Any]:
    return {"text": _decoded(path.read_bytes())}


def _csv(path: Path, _: str) -> dict[str, Any]:
    text = _decoded(path.read_bytes())
    try:
        form = csv.Sniffer().sniff(text[:8_192], ",;\t|")
    except csv.Error:
        form = csv.excel
    return {"text": _table(list(csv.reader(io.StringIO(text), form)))}


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown, the first as its header; "" without rows."""
    cells = [[" ".join(cell.replace("|", "\\|").split("\n")) for cell in row] for row in rows if row]
    width = max(map(len, cells), default=0)
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in cells]
    return "\n".join([*lines[:1], f"|{' --- |' * width}", *lines[1:]]) if lines else ""


def _xlsx(path: Path, _: str) -> dict[str, Any]:
    """The sheets, each with its cells as they are shown; a formula without a stored value as it is written."""
    raw = path.read_bytes()
    load: Any = import_module("openpyxl").load_workbook
    written, stored = (load(io.BytesIO(raw), read_only=True, data_only=only) for only in (False, True))
    parts: list[str] = []
    unknown = 0
    for sheet, values in zip(written.worksheets, stored.worksheets, strict=True):
        rows, formulas = _cells(sheet, values)
        unknown += formulas
        parts.append(f"## {sheet.title}\n\n{_table(rows)}".rstrip())
    facts = _zipped_facts(raw)
    if unknown:
        facts["notes"].append(f"Formulas without a stored value, which are in the text as they are written: {unknown}.")
    return {"text": "\n\n".join(parts), **facts}


def _cells(sheet: Any, values: Any) -> tuple[list[list[str]], int]:  # noqa: ANN401
    """The texts of a sheet without those behind the last one of each row, and its number of formulas without value.

    Args:
        sheet: The sheet with its formulas.
        values: The same sheet with the stored values of formulas.
    """
    sheet.reset_dimensions()  # some programs write wrong ones
    values.reset_dimensions()
    texts: list[list[str]] = []
    unknown = 0
    for cells, results in zip(sheet.iter_rows(), values.iter_rows(), strict=True):
        row = [_shown(result) for result in results]
        for at, cell in enumerate(cells):
            if cell.data_type == "f" and not row[at]:
                row[at] = str(getattr(cell.value, "text", cell.value))
                unknown += 1
        while row and not row[-1]:
            row.pop()
        texts.append(row)
    return texts, unknown


def _shown(cell: Any) -> str:  # noqa: ANN401
    """A cell as a table program shows it: whole numbers without fraction, days without time."""
    value, form = cell.value, str(getattr(cell, "number_format", "")).lower()
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return f"{100 * value:.15g}%" if form.endswith("%") else f"{value:.15g}" if value % 1 else str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes") if value.time() != time.min else value.date().isoformat()
    return value.isoformat("auto" if value.second else "minutes") if isinstance(value, time) else str(value).strip()


def _decoded(raw: bytes, charset: str = "") -> str:
    """A text, by its byte order mark, else as UTF-8, else by the charset that it names, else as Windows-1252."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    for name in ("utf-8-sig", charset, "cp1252"):
        with suppress(UnicodeDecodeError, LookupError):
            return raw.decode(name)
    return raw.decode("latin-1")


_CONVERTERS: Mapping[str, Callable[[Path, str], dict[str, Any]]] = {
    "pdf": _pdf,
    "html": _html,
    "txt": _text,
    "csv": _csv,
    "xlsx": _xlsx,
    **{kind: _office(kind) for kind in ("docx", "pptx", "epub")},
}
