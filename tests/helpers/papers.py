"""Files of several formats, made here: a PDF by hand, Office files by the libraries that read them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import openpyxl
import pptx

CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>Minutes &amp; more</dc:title><dc:creator>Ada Brown</dc:creator>"
    "<dcterms:created>2024-03-01T12:00:00Z</dcterms:created></cp:coreProperties>"
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type='
    '"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def pdf(pages: Sequence[str], title: str = "Annual report") -> bytes:
    """A PDF with a line of text on each page; "" for a page without text."""
    count = len(pages)
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(count))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {count} >>"]
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * number} 0 R /Resources {font} >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) /Author (Ada Brown) /CreationDate (D:20240301120000Z) >>")
    out, offsets = b"%PDF-1.4\n", list[int]()
    for number, text in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


def docx(*paragraphs: str, macros: bool = False) -> bytes:
    """A document of a heading and paragraphs."""
    heading = f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{paragraphs[0]}</w:t></w:r></w:p>'
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs[1:])
    styles = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
        "</w:style></w:styles>"
    )
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "docProps/core.xml": CORE,
        "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{heading}{body}</w:body></w:document>',
        "word/styles.xml": styles,
        "word/_rels/document.xml.rels": RELATIONS.replace("officeDocument", "styles", 2).replace(
            "word/document.xml", "styles.xml"
        ),
    }
    return zipped(parts | ({"word/vbaProject.bin": "x"} if macros else {}))


def xlsx(rows: Sequence[Sequence[object]]) -> bytes:
    """A workbook of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    raw = io.BytesIO()
    book.save(raw)
    return raw.getvalue()


def slides(*texts: tuple[str, str]) -> bytes:
    """A presentation of slides, each with its title and text."""
    deck = pptx.Presentation()
    for title, text in texts:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    raw = io.BytesIO()
    deck.save(raw)
    return raw.getvalue()


def book(*chapters: str) -> bytes:
    """An EPUB of chapters."""
    names = [f"c{number}" for number, _ in enumerate(chapters)]
    items = "".join(f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>A book</dc:title><dc:creator>Bo</dc:creator><dc:date>2020-02-02</dc:date></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="c.opf"/>'
        "</rootfiles></container>"
    )
    pages = {
        f"{name}.xhtml": f"<html><body><h1>Chapter</h1><p>{text}</p></body></html>"
        for name, text in zip(names, chapters, strict=True)
    }
    return zipped({"mimetype": "application/epub+zip", "META-INF/container.xml": container, "c.opf": package, **pages})


def zipped(parts: dict[str, str]) -> bytes:
    """An archive of these parts."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return raw.getvalue()
