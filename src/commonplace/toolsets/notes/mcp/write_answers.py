"""Answers of the tools of `notes` that write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.citations import citations_of
from commonplace.domain.document_reader import find_fragment, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.revisions import changed_ranges, revision_of
from commonplace.domain.status import next_review
from commonplace.domain.tokens import tokens_of
from commonplace.domain.words.amounts import amount
from commonplace.faces.mcp.toolset import Call
from commonplace.faces.write_output import (
    ignored_lines,
    kept_title_lines,
    moved_link_lines,
    named_pages,
    new_finding_lines,
    not_rewritten_lines,
    own_titles,
    redirect_lines,
)
from commonplace.services import links
from commonplace.services.collections import Collection
from commonplace.services.deletions import is_only_proposed
from commonplace.services.findings import new_findings, shown_findings
from commonplace.services.related_documents import NearDuplicates
from commonplace.services.writes.moves import MovePlan
from commonplace.toolsets.notes.mcp.text_output import line_of, next_call
from commonplace.toolsets.notes.rules.page_edits import section_of
from commonplace.toolsets.notes.rules.replaced_texts import source_key, source_texts
from commonplace.toolsets.notes.service.page_lookup import shown_path
from commonplace.toolsets.notes.service.repeats import CallMadeError, WriteAnswer
from commonplace.toolsets.notes.service.steps import (
    DeleteStep,
    EditStep,
    MoveStep,
    StepResult,
    StepsReceipt,
    WriteStep,
)

MAX_SHOWN_LINE = 120
"""Maximum characters of a changed line in an answer."""
MAX_SHOWN_SOURCES = 20
"""Maximum number of new sources that an answer names."""
UNWATCHED = " (no commit has these lines: changes of them are not told)"


def result_lines(call: Call, collection: Collection, receipt: StepsReceipt) -> list[str]:
    """The result of each step, its effect on links of other pages, and near-duplicates of new pages."""
    results = receipt.results
    lines = [_done(call, collection, element) for element in results]
    for element in results:
        lines += _unseen_lines(element, receipt.retained.get(element.address))
        lines += _link_lines(call, collection, element)
        lines += [*_old_link_lines(call, collection, element), *_source_lines(element)]
    for element in results:
        if not isinstance(element.step, MoveStep):
            new = new_findings(call.services.collections, collection, element.address, (element.before, element.after))
            lines += new_finding_lines(shown_findings(new))
    return lines + _duplicates(collection, results)


def preview_lines(call: Call, collection: Collection, step: MoveStep, plan: MovePlan) -> list[str]:
    """The lines that preview a move."""
    name = partial(shown_path, call.services.collections, collection)
    moved = [f"{name(old)} -> {name(new)}" for old, new in step.moves if old not in plan.ignored]
    others = [name(address) for address in plan.others if address not in plan.pinned]
    inside = f", with links rewritten in {len(plan.rewritten)}" if plan.rewritten else ""
    lines = [f"Would move {amount(len(moved), 'file')}{inside}: {named_pages(moved)}"]
    lines.append(f"Links would follow in {amount(len(others), 'other page')}" + _named(others))
    if plan.pinned:
        pinned = [name(address) for address in plan.pinned]
        lines.append(
            f"Links to another page of that name would get its path in {amount(len(pinned), 'page')}{_named(pinned)}"
        )
    if plan.gained:
        gained = [name(address) for address in plan.gained]
        lines.append(f"Links that lead nowhere would lead here in {amount(len(gained), 'page')}{_named(gained)}")
    lines += ignored_lines([name(address) for address in plan.ignored])
    lines += not_rewritten_lines([name(address) for address in plan.not_rewritten], would=True)
    return [*lines, "Nothing was changed."]


def made_elsewhere(call: Call, made: CallMadeError) -> WriteAnswer:
    """The answer of a call that another server of the remote has made: the pages of its commit as they were there."""
    collection, commit = made.collection, made.commit
    left: dict[Address, str] = {}
    for address in commit.addresses:
        try:
            left[address] = revision_of(collection.store.history.read(address, commit.id))
        except NotFoundError:
            left[address] = ""
    lines = ["Made by an earlier call with this request_id; nothing was written now"]
    for address, revision in left.items():
        path = shown_path(call.services.collections, collection, address)
        lines.append(f"Wrote {path} rev {revision[:12]}" if revision else f"Removed {path}")
    text = "\n".join([*lines, f"commit {commit.id[:12]}"])
    return WriteAnswer(f"{text}\n({tokens_of(text) + 4} tokens)", collection, left)


def foreign_links_lost(call: Call, collection: Collection, deleted: Sequence[tuple[Address, Address]]) -> list[str]:
    """Links in other folders that a deletion will break; to be collected before the deletion.

    Args:
        call: The call.
        collection: The folder of the pages.
        deleted: For each page, its path at the time of deletion and its current path.
    """
    lines: list[str] = []
    for address, there in deleted:
        documents = links.distinct(links.incoming(call.services.collections, collection, there))
        others = {
            shown_path(call.services.collections, document.found.collection, document.found.record.address)
            for document in documents
            if document.found and document.found.collection.name != collection.name
        }
        if others:
            lines.append(f"Links to {address.path} now lead nowhere in {named_pages(sorted(others))}")
    return lines


def _named(names: Sequence[str]) -> str:
    return f": {named_pages(names)}" if names else ""


def _done(call: Call, collection: Collection, element: StepResult) -> str:
    path = shown_path(call.services.collections, collection, element.address)
    revision = f"rev {element.revision[:12]}"
    match element.step:
        case WriteStep() if element.before is None:
            return f"Created {path} {revision}"
        case DeleteStep():
            return f"Deleted {path}. {_way_back(collection, path, element.address)}"
        case MoveStep(old=old, new=new, moves=moves):
            if old.endswith("/"):
                inside = f", links rewritten in {len(element.rewritten)} of them" if element.rewritten else ""
                return f"Moved {old} -> {new} ({amount(len(moves), 'file')}{inside}){_following(element)}"
            was = shown_path(call.services.collections, collection, moves[0][0])
            own = "; its own links were rewritten" if element.rewritten else ""
            return f"Moved {was} -> {path} {revision}{own}{_following(element)}"
        case _ if element.unchanged:
            return f"Unchanged {path} {revision}: it already was so"
        case _:
            verb = "Replaced" if isinstance(element.step, WriteStep) else "Edited"
            counts = _line_counts(element.before or b"", element.after or b"")
            return f"{verb} {path} {revision} {counts}{_next_review(element)}"


def _unseen_lines(element: StepResult, copy: RetainedCopy | None) -> list[str]:
    """A line about text that an edit took away unseen; of text that no commit has, the answer tells where it is."""
    if not element.unseen:
        return []
    first, *others = element.unseen
    more = f" and {amount(len(others), 'more line')}" if others else ""
    back = next_call("read", page=copy.address.path, at=copy.commit[:12]) if copy and copy.commit else ""
    shown = line_of(first.strip(), MAX_SHOWN_LINE)
    return [f"This took away text that the session had not read: {shown!r}{more}. {back}".rstrip()]


def _way_back(collection: Collection, path: str, address: Address) -> str:
    if is_only_proposed(collection.store, address):
        return "Only your proposal had it, and restore brings back what is served"
    return f"Back: restore {json.dumps({'page': path}, ensure_ascii=False)}"


def _next_review(element: StepResult) -> str:
    """The day on which a page that was reviewed is to be reviewed again, as the end of a line."""
    step = element.step
    if not isinstance(step, EditStep) or all(change.kind != "reviewed" for change in step.changes):
        return ""
    return f"; {next_review(read_document(element.address, element.after or b'').frontmatter.values)}"


def _following(element: StepResult) -> str:
    others = [page.path for page in element.relinked if page not in element.pinned]
    return f"; links follow in {named_pages(others)}" if others else ""


def _link_lines(call: Call, collection: Collection, element: StepResult) -> list[str]:
    name: Callable[[Address], str] = partial(shown_path, call.services.collections, collection)
    if isinstance(element.step, MoveStep):
        lines = moved_link_lines([*map(name, element.pinned)], [*map(name, element.gained)])
        lines += ignored_lines([*map(name, element.ignored)])
        lines += kept_title_lines(own_titles(collection, [new for _, new in element.step.moves]))
        return lines + not_rewritten_lines([*map(name, element.not_rewritten)])
    return redirect_lines(element.redirected, element.address, name)


def _old_link_lines(call: Call, collection: Collection, element: StepResult) -> list[str]:
    """The pages with links that meant what an edit superseded."""
    changes = element.step.changes if isinstance(element.step, EditStep) else ()
    superseded = [change for change in changes if change.kind == "supersede"]
    if not superseded or element.before is None:
        return []
    old = read_document(element.address, element.before)
    sections = [section_of(old, change.section) for change in superseded if change.section]
    is_whole = any(not change.section and not change.old for change in superseded)
    pages = {
        shown_path(call.services.collections, collection, each.source)
        for each in collection.index.links_to(element.address, sentences=False)
        if each.source != element.address and (is_whole or _leads_into(old, each.link.fragment, sections))
    }
    return [f"Links that meant the old text: {named_pages(sorted(pages))}"] if pages else []


def _leads_into(document: Document, fragment: str, sections: Sequence[Section]) -> bool:
    """Whether the fragment of a link, in any form, names one of these sections or a place in it."""
    try:
        at = find_fragment(document, fragment)[0] if fragment else -1
    except KnowledgeError:
        return False
    return any(section.start <= at < section.tree_end for section in sections)


def _source_lines(result: StepResult) -> list[str]:
    """The sources that a write adds, and those of its changes that were there, with their numbers in the page."""
    if result.after is None or isinstance(result.step, (DeleteStep, MoveStep)):
        return []
    before = {each.key for each in citations_of(read_document(result.address, result.before or b""))}
    before -= _cited(result)
    added = [
        f"[{each.label}] {line_of(each.place, MAX_SHOWN_LINE)}{UNWATCHED if each.first and not each.commit else ''}"
        for each in citations_of(read_document(result.address, result.after))
        if each.key not in before
    ]
    more = f" and {len(added) - MAX_SHOWN_SOURCES} more" if len(added) > MAX_SHOWN_SOURCES else ""
    return [f"Sources: {'; '.join(added[:MAX_SHOWN_SOURCES])}{more}"] if added else []


def _cited(result: StepResult) -> set[tuple[str, str, str]]:
    """The keys of the sources that the changes of an edit give."""
    changes = result.step.changes if isinstance(result.step, EditStep) else ()
    return {source_key(text) for change in changes for text in source_texts(change.sources, result.address.folder)}


def _line_counts(before: bytes, after: bytes) -> str:
    """The numbers of added and removed lines, the line numbers of the changed range, and its text if it is one line."""
    old, new = before.splitlines(), after.splitlines()
    ranges = changed_ranges(old, new)
    if not ranges:
        return "(only line ends)"
    removed = sum(each.old_end - each.old_start for each in ranges)
    added = sum(each.new_end - each.new_start for each in ranges)
    start, end = ranges[0].new_start, ranges[-1].new_end
    if start == end:
        return f"(-{removed} lines at {start + 1})"
    counts, lines = f"(+{added} -{removed} lines, at {start + 1}-{end})", new[start:end]
    # The line of a small edit, such as a task that is named by a part of its text.
    return (
        f"{counts}: {line_of(lines[0].decode('utf-8', 'replace'), MAX_SHOWN_LINE)}"
        if len(lines) == 1 and lines[0].strip()
        else counts
    )


def _duplicates(collection: Collection, results: Sequence[StepResult]) -> list[str]:
    near = NearDuplicates(collection)
    lines: list[str] = []
    for element in results:
        if isinstance(element.step, WriteStep) and element.before is None and element.after is not None:
            look = partial(near.of, element.address.id, read_document(element.address, element.after))
            same = look()
            if same and same != element.address.id:
                lines.append(f"{same!r} says nearly the same: edit that one instead, or link the two.")
    return lines
