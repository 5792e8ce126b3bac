// Says that the page which is being read has changed; nothing moves before the reader wants it.
import { showChanges } from "./changes.js";
import { t } from "./messages.js";

/** @param enhance adds to new parts of the text what scripts add to it at the start */
export function startLive(enhance) {
  const layout = document.querySelector(".layout[data-path]");
  const box = document.getElementById("_ui-live");
  if (!layout || !("EventSource" in globalThis)) return;
  const article = layout.querySelector("article.text");
  const written = new Map([...article.children].map((one) => [one, one.outerHTML]));
  let source = null;

  const listen = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource("/events");
      source.addEventListener("change", (event) => {
        const { collection, paths } = JSON.parse(event.data);
        if (collection === layout.dataset.collection && paths.includes(layout.dataset.path)) check();
      });
    }
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => source?.close());
  listen();

  /** Says nothing of what this page wrote itself. */
  async function check() {
    const own = document.querySelector("#_ui-tasks [name=revision]");
    if (own) {
      const response = await fetch(location.href, { headers: { accept: "text/html" } }).catch(() => null);
      const parsed = new DOMParser().parseFromString((await response?.text()) ?? "", "text/html");
      if (parsed.querySelector("#_ui-tasks [name=revision]")?.value === own.value) return;
    }
    tell();
  }

  function tell() {
    say(t("This page has changed."), link(t("Show what changed"), async () => {
      const shown = await showChanges(article, written, enhance);
      if (shown) say(shown, link(t("Without marks"), () => location.reload()));
      else location.reload();
    }), link(t("Read the new version"), () => location.reload()));
  }

  function say(message, ...links) {
    const text = document.createElement("span");
    text.textContent = message;
    box.replaceChildren(text, ...links);
  }

  function link(label, act) {
    const made = document.createElement("a");
    made.href = location.href;
    made.textContent = label;
    made.addEventListener("click", (event) => {
      event.preventDefault();
      act();
    });
    return made;
  }
}
