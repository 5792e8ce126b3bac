// Completion from the index: pages after `[[`, headings after `[[page#`, tags after `#`, keys in the front matter.
const LINK = /\[\[([^\[\]|#\n]{0,200})$/;
const HEADING = /\[\[([^\[\]|#\n]{0,200})#([^\[\]|\n]{0,200})$/;
const KEY = /^([A-Za-z_][\w-]*)$/;
const TAG = /(?:^|\s)#([\p{L}\p{N}_/-]{0,100})$/u;

export function completions(form) {
  return [
    async (context) => {
      const line = context.state.doc.lineAt(context.pos);
      const before = line.text.slice(Math.max(0, context.pos - line.from - 450), context.pos - line.from);
      const heading = HEADING.exec(before);
      const link = LINK.exec(before);
      const tag = TAG.exec(before);
      if (heading) return ask(context, { kind: "heading", page: heading[1], q: heading[2] }, "]]");
      if (link) return ask(context, { kind: "page", q: link[1] }, "]]");
      const key = KEY.exec(before);
      const fields = key && frontMatterAround(context.state.doc, line.number);
      if (fields !== null && key) return ask(context, { kind: "key", q: key[1], type: /^type: *(\S+)/m.exec(fields)?.[1] ?? "" }, ": ");
      if (tag && (tag[1] || context.explicit)) return ask(context, { kind: "tag", q: tag[1] }, "");
      return null;
    },
  ];

  async function ask(context, query, close) {
    const gone = new AbortController();
    context.addEventListener("abort", () => gone.abort(), { onDocChange: true });
    try {
      const url = new URL(form.dataset.complete, location.href);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const response = await fetch(url, { signal: gone.signal });
      if (!response.ok) return null;
      const { options } = await response.json();
      return {
        from: context.pos - query.q.length,
        filter: false,
        options: options.map(({ text, label, detail }) => ({ label: label || text, detail, apply: inserted(text, close) })),
      };
    } catch {
      return null;
    }
  }
}

/** @returns the front matter if a line, from 1, is in it; null otherwise */
function frontMatterAround(doc, number) {
  if (doc.line(1).text !== "---" || number === 1) return null;
  const lines = [];
  for (let at = 2; at <= Math.min(doc.lines, 200); at++) {
    const { text } = doc.line(at);
    if (/^(---|\.\.\.)\s*$/.test(text)) return number < at ? lines.join("\n") : null;
    lines.push(text);
  }
  return null;
}

/** Inserts a text with the brackets that close it, unless these are there already. */
function inserted(text, close) {
  return (view, _, from, to) => {
    const there = close && view.state.sliceDoc(to, to + close.length) === close;
    const insert = there ? text : text + close;
    view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + text.length + close.length } });
  };
}
