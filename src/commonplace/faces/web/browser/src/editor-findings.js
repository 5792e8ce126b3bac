// What is wrong with the front matter, said in the editor as soon as it is typed, also where no preview is shown.
const WAIT = 400;
const PATIENCE = 1000;
const MOST = 20_000;

export function startFindings(form, view) {
  const box = form.querySelector("#_ui-findings");
  let timer = 0;
  let checked = "";
  let told = "";
  form.addEventListener("_ui-changed", () => {
    clearTimeout(timer);
    timer = setTimeout(check, WAIT);
  });
  check();

  return { stops };

  /** Whether a front matter is wrong in a way that its writer has not been told of yet; saving again is then meant. */
  async function stops() {
    clearTimeout(timer);
    const before = told;
    await Promise.race([check(), new Promise((done) => setTimeout(done, PATIENCE))]); // saving does not wait for it
    return box.textContent !== "" && box.textContent !== before;
  }

  /** Lets the server read the front matter, if it has changed. It is small, so this is cheap in a page of any size. */
  async function check() {
    const head = frontMatter(view.state.doc.sliceString(0, MOST));
    if (head === checked) return;
    try {
      const body = new URLSearchParams({ text: head, line: "1" });
      for (const name of ["section", "path"]) if (form.elements[name]) body.set(name, form.elements[name].value);
      const response = head ? await fetch(form.dataset.preview, { method: "POST", body }) : null;
      if (response && !response.ok) return;
      const parsed = response && new DOMParser().parseFromString(await response.text(), "text/html");
      const found = parsed?.querySelector(".callout-warning li") ? parsed.querySelector(".callout-warning") : null;
      checked = head;
      box.replaceChildren(...(found ? [document.importNode(found, true)] : []));
      box.hidden = !found;
      told = box.textContent;
    } catch {
      // it is checked again after the next change
    }
  }
}

/** The front matter with its lines of hyphens; "" for a page without one. */
function frontMatter(text) {
  if (!/^---[ \t]*\r?\n/.test(text)) return "";
  const end = /\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/.exec(text.slice(3));
  return end ? `${text.slice(0, 3 + end.index + end[0].length)}\n` : text;
}
