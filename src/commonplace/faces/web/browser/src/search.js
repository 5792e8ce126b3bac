// The search box: `/` and Ctrl-K reach it, hits appear while somebody types, the keyboard chooses among them.
import { isTyping } from "./keys.js";

/** Args: `find` gives the nodes to show for a query, at a moment or now; null when it failed. */
export function startSearch(find = findOnServer) {
  const input = document.getElementById("_ui-search");
  if (!input) return; // a server of projects alone has nothing to search
  const box = document.getElementById("_ui-suggestions");
  let asked = "";
  let running = false;
  let chosen = -1;

  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", "_ui-suggestions");

  document.addEventListener("keydown", (event) => {
    const slash = event.key === "/" && !isTyping(event);
    if (slash || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k")) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  input.addEventListener("input", suggest);
  input.addEventListener("focus", suggest);
  input.addEventListener("blur", () => setTimeout(() => {
    if (!box.contains(document.activeElement)) close();
  }, 120));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      close();
      input.blur();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      location.href = options()[chosen].dataset.url;
    }
  });

  const options = () => [...box.querySelectorAll("[role=option]")];

  function choose(number) {
    const rows = options();
    if (!rows.length) return;
    chosen = (number + rows.length) % rows.length;
    rows.forEach((row, at) => row.setAttribute("aria-selected", String(at === chosen)));
    rows[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", rows[chosen].id);
  }

  function close() {
    box.hidden = true;
    chosen = -1;
    asked = "";
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  /** Asks at once, and one question at a time: what is typed meanwhile is asked when the answer is there. */
  async function suggest() {
    if (running) return;
    running = true;
    try {
      while (document.activeElement === input && (input.value.trim() !== asked || box.hidden)) await ask(input.value.trim());
    } finally {
      running = false;
    }
  }

  async function ask(query) {
    asked = query;
    const rows = await find(query, input.form.elements.at?.value ?? "").catch(() => null);
    if (!rows) return fail();
    if (document.activeElement !== input) return;
    const url = options()[chosen]?.dataset.url; // a late answer does not take away what is chosen
    box.replaceChildren(...rows);
    box.hidden = false;
    box.dataset.query = query;
    chosen = -1;
    input.setAttribute("aria-expanded", "true");
    input.removeAttribute("aria-activedescendant");
    const same = options().findIndex((row) => row.dataset.url === url);
    if (same >= 0) choose(same);
  }

  /** Leaves the box closed until something else is typed. */
  function fail() {
    const query = asked;
    close();
    asked = query;
    box.hidden = false;
    box.replaceChildren();
  }
}

async function findOnServer(query, moment) {
  const at = moment ? `&at=${encodeURIComponent(moment)}` : "";
  const response = await fetch(`/suggest?q=${encodeURIComponent(query)}${at}`);
  if (!response.ok) return null;
  return new DOMParser().parseFromString(await response.text(), "text/html").body.childNodes;
}
