// The keys of a page, and their list, which `?` shows. A key follows a link of the page; without the link it does nothing.
import { t } from "./messages.js";

const LINKS = [
  ["e", "edit this page", ".page-tools a[accesskey=e]"],
  ["[", "previous page", ".around a[rel=prev]"],
  ["]", "next page", ".around a[rel=next]"],
];
const ALWAYS = [
  ["/", "search, also Ctrl K"],
  ["↑ ↓ Enter", "choose a hit and open it"],
  ["Esc", "close"],
  ["?", "this list"],
];

/** Whether a key goes into a text, or belongs to the browser. */
export function isTyping(event) {
  // Inside a shadow root, `target` is its host.
  const field = event.composedPath()[0].closest?.("input, textarea, select, [contenteditable]");
  return Boolean(field) || event.ctrlKey || event.metaKey || event.altKey;
}

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    const link = LINKS.find(([key]) => key === event.key);
    if (event.key === "?") showHelp();
    else if (link) document.querySelector(link[2])?.click();
    else return;
    event.preventDefault();
  });
}

function showHelp() {
  const dialog = document.createElement("dialog");
  dialog.className = "keys";
  dialog.setAttribute("aria-label", t("Keys"));
  const list = document.createElement("dl");
  const search = document.getElementById("_ui-search") ? ALWAYS : ALWAYS.slice(2);
  for (const [key, what] of [...search, ...LINKS.filter(([, , target]) => document.querySelector(target))]) {
    const [name, text] = [document.createElement("dt"), document.createElement("dd")];
    for (const part of key.split(" ")) name.append(Object.assign(document.createElement("kbd"), { textContent: part }), " ");
    text.textContent = t(what);
    list.append(name, text);
  }
  const button = Object.assign(document.createElement("button"), { textContent: t("Close"), className: "button plain" });
  const form = Object.assign(document.createElement("form"), { method: "dialog" });
  form.append(button);
  dialog.append(list, form);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
