// The preview of an edit form: the server's own rendering, beside the text or in place of it.
const LEAST_WAIT = 250;
const LARGE = 150_000;
const AROUND = 30_000;
const VIEWS = ["text", "both", "preview"];
const STORED = "edit-view";

export function startPreview(form, view) {
  const panes = form.querySelector(".edit-panes");
  const article = form.querySelector(".edit-preview article");
  const bar = form.querySelector(".edit-tools");
  if (!article || !bar) return;
  let timer = 0;
  let wait = LEAST_WAIT;
  let running = null;
  let shown = null;

  const buttons = VIEWS.map((name) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = { text: "Text", both: "Both", preview: "Preview" }[name];
    made.addEventListener("click", () => choose(name));
    return made;
  });
  const group = document.createElement("div");
  group.className = "edit-views";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "View");
  group.append(...buttons);
  bar.append(group);
  const plain = form.querySelector("button[value=preview]");
  if (plain) plain.hidden = true;
  form.addEventListener("_ui-changed", later);
  choose(stored() ?? (matchMedia("(min-width: 64rem)").matches ? "both" : "text"));

  function choose(name) {
    panes.dataset.view = name;
    form.querySelector(".edit-preview").hidden = name === "text";
    buttons.forEach((one, at) => one.setAttribute("aria-pressed", String(VIEWS[at] === name)));
    try {
      localStorage.setItem(STORED, name);
    } catch {
      // the choice lasts as long as the page
    }
    view.requestMeasure();
    render();
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(render, wait);
  }

  async function render() {
    const { doc, selection } = view.state;
    if (panes.dataset.view === "text" || doc === shown) return;
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const started = performance.now();
    const body = new URLSearchParams(excerpt(doc, selection.main.head));
    for (const name of ["section", "path"]) if (form.elements[name]) body.set(name, form.elements[name].value);
    try {
      const response = await fetch(form.dataset.preview, { method: "POST", body, signal });
      if (!response.ok) return;
      const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
      shown = doc;
      article.replaceChildren(...parsed.body.childNodes);
      document.dispatchEvent(new CustomEvent("_ui-enhance", { detail: article }));
      wait = Math.max(LEAST_WAIT, 2 * (performance.now() - started));
    } catch {
      // a later change renders anew; without an answer the last preview stays
    }
  }
}

/** The whole text, or of a large one the sections around the cursor. */
function excerpt(doc, head) {
  if (doc.length <= LARGE) return { text: doc.toString(), line: String(doc.lineAt(head).number) };
  const last = doc.lineAt(Math.min(doc.length, head + AROUND)).to;
  let line = doc.lineAt(Math.max(0, head - AROUND));
  while (line.from && !/^#{1,6} /.test(line.text) && line.to < head) line = doc.lineAt(line.to + 1);
  return { text: doc.sliceString(line.from, last), excerpt: "1" };
}

function stored() {
  try {
    const name = localStorage.getItem(STORED);
    return VIEWS.includes(name) ? name : null;
  } catch {
    return null;
  }
}
