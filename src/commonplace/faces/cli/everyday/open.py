"""`commonplace open`: a page in your editor.

As JSON: `{"path", "line"}`, and nothing is opened; `path` is absolute.
"""

from __future__ import annotations

from commonplace.faces.cli.everyday.editor import open_in_editor
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.pages import named_part
from commonplace.faces.cli.session import Session, require_files
from commonplace.services import reads


def command(session: Session, page: PageArgument) -> None:
    """Open a page in your editor ($VISUAL, else $EDITOR, else vi), at a heading if PAGE names one.

    Examples:
        commonplace open notes/idea
        commonplace open "notes/idea#Next steps"
    """
    require_files(session, "An editor")
    with session.opened() as collections:
        collection, address, heading = named_part(collections, session.relative(page))
        folder = next(
            folder
            for folder, member in zip(session.settings.kb, collections.members, strict=True)
            if member is collection
        )
        passage = reads.fragment(collection, address, heading) if heading else None
    file = folder.expanduser().absolute() / address.path
    line = passage.first_line if passage else 1
    if session.out.as_json:
        session.out.json({"path": str(file), "line": line})
        return
    open_in_editor(file, line)
