// What the tool bar and the keyboard add to a text: marks around a selection, or at the beginning of its lines.
export const FORMATS = {
  bold: { label: "Bold", key: "Mod-b", around: "**" },
  italic: { label: "Italic", key: "Mod-i", around: "*" },
  code: { label: "Code", key: "Mod-e", around: "`" },
  link: { label: "Link", key: "Mod-Shift-l", open: "[[", close: "]]" },
  heading: { label: "Heading", before: "## " },
  list: { label: "List", before: "- " },
  task: { label: "To-do", key: "Mod-Shift-t", before: "- [ ] " },
  quote: { label: "Quote", before: "> " },
  table: { label: "Table", block: "| a | b |\n| --- | --- |\n|  |  |\n" },
};

/** @returns a command of CodeMirror that adds a format to what is selected, or takes it away */
export function toggleMarks(format) {
  return (view) => {
    if (format.block) return insertBlock(view, format.block);
    if (format.before) return toggleLines(view, format.before);
    return toggleAround(view, format.open ?? format.around, format.close ?? format.around);
  };
}

function toggleAround(view, open, close) {
  const { state } = view;
  const { from, to } = state.selection.main;
  const is = (at, text) => state.sliceDoc(at, at + text.length) === text;
  if (from >= open.length && is(from - open.length, open) && is(to, close)) {
    view.dispatch({
      changes: [{ from: from - open.length, to: from }, { from: to, to: to + close.length }],
      selection: { anchor: from - open.length, head: to - open.length },
    });
  } else {
    view.dispatch({
      changes: [{ from, insert: open }, { from: to, insert: close }],
      selection: { anchor: from + open.length, head: to + open.length },
    });
  }
  view.focus();
  return true;
}

function toggleLines(view, mark) {
  const { state } = view;
  const { from, to } = state.selection.main;
  const lines = [];
  for (let at = from; at <= to; ) {
    const line = state.doc.lineAt(at);
    lines.push(line);
    at = line.to + 1;
  }
  const marked = lines.every((line) => line.text.startsWith(mark));
  view.dispatch({
    changes: lines.map((line) => (marked ? { from: line.from, to: line.from + mark.length } : { from: line.from, insert: mark })),
  });
  view.focus();
  return true;
}

function insertBlock(view, block) {
  const { state } = view;
  const line = state.doc.lineAt(state.selection.main.head);
  const lead = line.text.trim() ? "\n\n" : "";
  view.dispatch({ changes: { from: line.to, insert: lead + block }, selection: { anchor: line.to + lead.length + 2 } });
  view.focus();
  return true;
}
