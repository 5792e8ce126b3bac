// What pages do beside being read. Every page works without this file but for search as you type and live notices.
import { startLive } from "./live.js";
import { startPreviews } from "./previews.js";
import { startSearch } from "./search.js";

const systemScheme = matchMedia("(prefers-color-scheme: dark)");
startTheme();
startSearch();
startPreviews();
startLive(enhance);
enhance(document);
startOutline();
startMentions();
startAuthors();
keepHeading();
document.addEventListener("ui-enhance", (event) => enhance(event.detail));

/** What scripts add to a text, or to new parts of it. */
function enhance(root) {
  startCopyButtons(root);
  startFormulas(root);
  startDiagrams(root);
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : systemScheme.matches;
}

/** The switch between light and dark: kept in a cookie, so that the next page is right from its first byte. */
function startTheme() {
  const button = document.getElementById("ui-theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
    document.dispatchEvent(new CustomEvent("ui-theme"));
  });
}

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

function startCopyButtons(root) {
  for (const block of root.querySelectorAll(".code-block")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
}

/** Marks the heading in the outline under which the reader is. */
function startOutline() {
  const links = new Map();
  for (const link of document.querySelectorAll(".outline a[href^='#']")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (heading) links.set(heading, link);
  }
  if (!links.size) return;
  const headings = [...links.keys()];
  let pending = false;
  const mark = () => {
    pending = false;
    const line = innerHeight * 0.25;
    let current = null;
    for (const heading of headings) {
      if (heading.getBoundingClientRect().top > line) break;
      current = heading;
    }
    for (const [heading, link] of links) {
      if (heading === current) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", () => {
    if (!pending) requestAnimationFrame(mark);
    pending = true;
  }, { passive: true });
  mark();
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

/** Formulas are drawn by KaTeX, which is loaded only by pages that have some. */
async function startFormulas(root) {
  const formulas = root.querySelectorAll("code.math-inline, .math-block > code");
  const source = document.querySelector("meta[name='ui-katex']");
  if (!formulas.length || !source) return;
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = source.dataset.css;
  document.head.append(style);
  const script = document.createElement("script");
  script.src = source.content;
  script.addEventListener("load", () => {
    for (const code of formulas) {
      const displayMode = code.parentElement.classList.contains("math-block");
      const target = document.createElement(displayMode ? "div" : "span");
      try {
        globalThis.katex.render(code.textContent, target, { displayMode, throwOnError: true, trust: false, maxExpand: 200, maxSize: 20 });
        code.replaceWith(target);
      } catch {
        code.title = "This formula cannot be read.";
      }
    }
  });
  document.head.append(script);
}

/** Each diagram is drawn in a frame without an origin, which sees its own source and nothing else. */
function startDiagrams(root) {
  const source = document.querySelector("meta[name='ui-diagram']");
  if (!source) return;
  for (const block of root.querySelectorAll(".mermaid-block")) {
    const code = block.querySelector("code").textContent;
    const frame = document.createElement("iframe");
    frame.className = "diagram";
    frame.title = "Diagram";
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = source.content;
    const draw = () => frame.contentWindow.postMessage({ code, dark: isDark() }, "*");
    const end = () => {
      frame.remove();
      removeEventListener("message", listen);
      document.removeEventListener("ui-theme", draw);
      systemScheme.removeEventListener("change", draw);
    };
    const listen = (event) => {
      if (event.source !== frame.contentWindow) return;
      if (event.data === "ready") draw();
      else if (event.data && Number.isFinite(event.data.height)) {
        frame.style.height = `${Math.min(Math.max(event.data.height, 20), 4000)}px`;
        block.querySelector("pre").hidden = true;
      } else if (event.data === "failed") end();
    };
    addEventListener("message", listen);
    document.addEventListener("ui-theme", draw);
    systemScheme.addEventListener("change", draw);
    block.append(frame);
  }
}
