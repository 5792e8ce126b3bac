// The editor of a page: a bundle of its own, which only pages with an edit form load. Without it the form is plain.
import { startDraft } from "./drafts.js";
import { createView } from "./codemirror.js";
import { startFindings } from "./editor-findings.js";
import { startPreview } from "./editor-preview.js";
import { startToolbar } from "./editor-toolbar.js";

start();

function start() {
  const form = document.getElementById("_ui-edit");
  if (!form) return;
  const view = createView(form);
  const draft = startDraft(form, view);
  const findings = startFindings(form, view);
  startPreview(form, view);
  startToolbar(form, view);
  form.addEventListener("submit", (event) => {
    if (event.submitter?.value === "preview") return;
    event.preventDefault();
    save(form, view, draft, findings);
  });
  form.addEventListener("_ui-save", () => save(form, view, draft, findings));
}

/** Sends the form. What the server refuses stays in the editor, and what it cannot be told stays there, too. */
async function save(form, view, draft, findings) {
  if (form.ariaBusy === "true") return;
  form.ariaBusy = "true";
  say(form, "Saving …");
  draft.write();
  if (await findings.stops()) {
    form.ariaBusy = "false";
    say(form, "Nothing was saved yet: look at what is wrong with the front matter above. Save again to save it as it is.");
    return;
  }
  form.elements.text.value = view.state.doc.toString();
  try {
    const body = new URLSearchParams(new FormData(form));
    body.set("action", "save");
    const response = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { accept: "text/html" } });
    if (response.ok && response.redirected) {
      draft.discard();
      const { section } = form.elements;
      location.assign(section?.value ? `${response.url}#${encodeURIComponent(section.value)}` : response.url); // a response's URL lacks it
      return;
    }
    const text = await response.text();
    const main = new DOMParser().parseFromString(text, "text/html").getElementById("_ui-main");
    if (response.status === 401) say(form, "You are signed out. Sign in in another tab, then save again: your text is still here.");
    else if (main?.querySelector(".edit-form, .merge-form")) showInstead(main, draft);
    else say(form, `This was not saved: ${reasonIn(text, main) || `the server answered ${response.status}`}`);
  } catch {
    say(form, "The server does not answer. Your text is still here, and kept in this browser.");
  } finally {
    form.ariaBusy = "false";
  }
}

/** Puts the answer, a conflict or a refusal with the text in its form, in place of this one. */
function showInstead(main, draft) {
  draft.stop();
  document.getElementById("_ui-main").replaceWith(document.importNode(main, true));
  start();
  scrollTo(0, 0);
  const heading = document.querySelector("#_ui-main h1");
  heading.tabIndex = -1;
  heading.focus();
}

function reasonIn(text, main) {
  if (main) return [...main.querySelectorAll("p")].slice(0, 2).map((one) => one.textContent).join(" ");
  try {
    const { error, hint } = JSON.parse(text);
    return [error, hint].filter(Boolean).join(" ");
  } catch {
    return "";
  }
}

function say(form, message) {
  form.querySelector("#_ui-status").textContent = message;
}
