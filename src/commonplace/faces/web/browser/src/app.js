// What pages do beside being read. Every page works without this file but for search as you type and live notices.
import { startKeys } from "./keys.js";
import { startLive } from "./live.js";
import { startNavigation } from "./navigation.js";
import { startPreviews } from "./previews.js";
import { enhance, startOutline, startTheme } from "./reading.js";
import { startSearch } from "./search.js";
import { startTasks } from "./tasks.js";

startTheme();
startSearch();
startKeys();
startNavigation();
startPreviews();
startLive(enhance);
enhance(document);
startOutline();
startMentions();
startAuthors();
startTasks();
keepHeading();
document.addEventListener("_ui-enhance", (event) => enhance(event.detail));

/** Signing in leads to the heading of the link, of which the server is not told. */
function keepHeading() {
  const next = document.querySelector(".sign-in input[name=next]");
  if (!next) return;
  const target = next.value;
  next.form.addEventListener("submit", () => (next.value = target + location.hash));
  for (const link of document.querySelectorAll(".sign-in a.button")) {
    const begin = link.href;
    link.addEventListener("click", () => (link.href = begin + encodeURIComponent(location.hash)));
  }
}

function startMentions() {
  for (const details of document.querySelectorAll("details.mentions")) {
    details.addEventListener("toggle", async () => {
      const response = await fetch(details.dataset.src);
      const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
      details.replaceChildren(details.querySelector("summary"), ...parsed.body.childNodes);
    }, { once: true });
  }
}

/** Below each section, on demand: who last changed it, when and why. */
function startAuthors() {
  const button = document.querySelector("a[data-sections]");
  const article = document.querySelector("article.text");
  button?.addEventListener("click", async (event) => {
    event.preventDefault();
    const shown = article.querySelectorAll(".written");
    for (const one of shown) one.remove();
    if (shown.length) return;
    const response = await fetch(button.dataset.sections);
    if (!response.ok) return void (location.href = button.href);
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const headings = [...article.querySelectorAll("h1[id], h2[id], h3[id], h4[id], h5[id], h6[id]")];
    for (const row of parsed.querySelectorAll("[data-anchor]")) {
      const at = headings.findIndex((one) => one.id === row.dataset.anchor);
      const line = document.createElement("p");
      line.className = "provenance written";
      line.append(...row.querySelector("p").childNodes);
      const next = headings[at + 1];
      if (at >= 0 || !row.dataset.anchor) article.insertBefore(line, next?.parentElement === article ? next : null);
    }
  });
}
