// The buttons above an editor. They are one stop of the Tab key; the arrow keys go from one to the next.
import { FORMATS, toggleMarks } from "./editor-formats.js";
import { startUploads } from "./editor-uploads.js";

export function startToolbar(form, view) {
  const bar = form.querySelector(".edit-tools");
  if (!bar) return;
  const formats = document.createElement("div");
  formats.className = "edit-formats";
  for (const format of Object.values(FORMATS)) formats.append(button(format.label, () => toggleMarks(format)(view), format.key));
  const upload = startUploads(form, view);
  if (upload) formats.append(button("File …", upload));
  bar.prepend(formats);
  bar.hidden = false;
  const buttons = [...bar.querySelectorAll("button")];
  buttons.forEach((one, at) => (one.tabIndex = at ? -1 : 0));
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = buttons.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.tabIndex = 0;
    next.focus();
  });
}

function button(label, act, key) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  if (key) made.title = key.replace("Mod", /Mac/.test(navigator.platform) ? "⌘" : "Ctrl").replaceAll("-", "+");
  made.addEventListener("click", act);
  return made;
}
