// The draft of an edit form: kept in this browser until it is saved. Closing the page asks before it goes.
// Each tab has a draft of its own, so that two with the same page do not overwrite each other's; all are offered.
const IDLE = 800;

export function startDraft(form, view) {
  const name = `draft ${form.dataset.draft}`;
  const key = keyOf(name, form.dataset.unsaved === "true");
  const opened = view.state.doc;
  let dirty = form.dataset.unsaved === "true";
  let timer = 0;
  offer();
  form.addEventListener("_ui-changed", () => {
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
      form.querySelector("#_ui-status").textContent = "This browser has no room for a draft: save before you leave the page.";
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

  function forget(slot = key) {
    try {
      localStorage.removeItem(slot);
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

  /** The drafts of this page by their keys, latest first: of earlier visits, and of other tabs. */
  function drafts() {
    const rows = [];
    try {
      for (let at = 0; at < localStorage.length; at++) {
        const slot = localStorage.key(at);
        if (slot !== name && !(slot.startsWith(`${name}|`) && /^[0-9a-z]+$/.test(slot.slice(name.length + 1)))) continue;
        const draft = JSON.parse(localStorage.getItem(slot));
        if (typeof draft?.text === "string" && slot !== key) rows.push([slot, draft]);
      }
    } catch {
      // what is not readable is no draft
    }
    return rows.sort(([, one], [, other]) => other.when - one.when);
  }

  /** Says that there are drafts that were not saved; nothing is replaced before its writer wants it. */
  function offer() {
    if (form.dataset.unsaved === "true") return;
    const text = opened.toString();
    const rows = drafts();
    for (const [slot, draft] of rows) if (draft.text === text) forget(slot);
    const box = form.querySelector("#_ui-draft");
    box.replaceChildren(...rows.filter(([, draft]) => draft.text !== text).map(([slot, draft]) => row(slot, draft)));
    box.hidden = !box.childElementCount;

    function row(slot, draft) {
      const made = document.createElement("div");
      const said = document.createElement("span");
      said.textContent = `Your text of ${new Date(draft.when).toLocaleString()} was not saved.`;
      made.append(said, choice("Use it", () => {
        form.elements.revision.value = draft.revision;
        if (form.elements.base) form.elements.base.value = draft.base;
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: draft.text } });
        dirty = true;
        write();
        if (isKept(draft.text)) forget(slot);
        view.focus();
      }), choice("Discard it", () => {
        forget(slot);
        view.focus();
      }));
      return made;

      function choice(label, act) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "button plain";
        button.textContent = label;
        button.addEventListener("click", () => {
          made.remove();
          box.hidden = !box.childElementCount;
          act();
        });
        return button;
      }
    }
  }

  /** Whether this tab's draft has a text. */
  function isKept(text) {
    try {
      return JSON.parse(localStorage.getItem(key))?.text === text;
    } catch {
      return false;
    }
  }
}

/** The key of this tab's draft of a page. A text that goes on after a conflict keeps the one that it had. */
function keyOf(name, goesOn) {
  const made = `${name}|${Math.random().toString(36).slice(2, 10)}`;
  try {
    const key = (goesOn && sessionStorage.getItem(name)) || made;
    sessionStorage.setItem(name, key);
    return key;
  } catch {
    return made;
  }
}
