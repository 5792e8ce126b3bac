// The draft of an edit form: kept in this browser until it is saved. Closing the page asks before it goes.
const IDLE = 800;

export function startDraft(form, view) {
  const key = `draft ${form.dataset.draft}`;
  const opened = view.state.doc;
  let dirty = form.dataset.unsaved === "true";
  let timer = 0;
  offer();
  form.addEventListener("ui-changed", () => {
    dirty = true;
    clearTimeout(timer);
    timer = setTimeout(() => (globalThis.requestIdleCallback ?? setTimeout)(write), IDLE);
  });
  addEventListener("beforeunload", ask);
  addEventListener("pagehide", write);

  return { write, discard, stop };

  /** Comparing large texts takes long, and almost all differ in length. */
  function isOpened() {
    const { doc } = view.state;
    return doc.length === opened.length && doc.eq(opened);
  }

  function write() {
    if (!dirty) return;
    if (isOpened() && form.dataset.unsaved !== "true") return forget();
    const { revision, base } = form.elements;
    const draft = { text: view.state.doc.toString(), revision: revision.value, base: base?.value ?? "", when: Date.now() };
    try {
      localStorage.setItem(key, JSON.stringify(draft));
    } catch {
      form.querySelector("#ui-status").textContent = "This browser has no room for a draft: save before you leave the page.";
    }
  }

  /** Takes away what is kept, after it was saved. */
  function discard() {
    stop();
    forget();
  }

  function stop() {
    dirty = false;
    clearTimeout(timer);
    removeEventListener("beforeunload", ask);
    removeEventListener("pagehide", write);
  }

  function forget() {
    try {
      localStorage.removeItem(key);
    } catch {
      // there was none
    }
  }

  function ask(event) {
    if (!dirty || (isOpened() && form.dataset.unsaved !== "true")) return;
    write();
    event.preventDefault();
    event.returnValue = "";
  }

  /** Says that there is a draft of an earlier visit; nothing is replaced before its writer wants it. */
  function offer() {
    let draft = null;
    try {
      draft = JSON.parse(localStorage.getItem(key));
    } catch {
      return;
    }
    if (typeof draft?.text !== "string" || form.dataset.unsaved === "true") return;
    if (draft.text === opened.toString()) return forget();
    const box = form.querySelector("#ui-draft");
    const text = document.createElement("span");
    text.textContent = `Your text of ${new Date(draft.when).toLocaleString()} was not saved.`;
    box.replaceChildren(text, choice("Use it", () => {
      form.elements.revision.value = draft.revision;
      if (form.elements.base) form.elements.base.value = draft.base;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: draft.text } });
      view.focus();
    }), choice("Discard it", () => {
      forget();
      view.focus();
    }));
    box.hidden = false;

    function choice(label, act) {
      const made = document.createElement("button");
      made.type = "button";
      made.className = "button plain";
      made.textContent = label;
      made.addEventListener("click", () => {
        box.hidden = true;
        act();
      });
      return made;
    }
  }
}
