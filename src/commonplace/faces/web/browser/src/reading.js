// What scripts add to a text, on a server and in published files: colors, copying, formulas, diagrams, the outline.
import { t } from "./messages.js";

const systemScheme = matchMedia("(prefers-color-scheme: dark)");

/** What scripts add to a text, or to new parts of it. */
export function enhance(root) {
  startCopyButtons(root);
  startHeadingLinks(root);
  startFormulas(root);
  startDiagrams(root);
  startVersions(root);
}

// Where style sheets do not reach the content of a closed part, it is opened to be printed.
if (!CSS.supports("selector(::details-content)")) {
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll(".text details")) {
      part.removeAttribute("name"); // of parts with one name, only one can be open
      part.open = true;
    }
  });
}

/** Above a text with parts for some versions only: a choice of the version, kept for the next page. */
function startVersions(root) {
  const parts = [...root.querySelectorAll(".version[data-range]")];
  const names = [...new Set(parts.flatMap((part) => part.dataset.range.match(/[^\s<>=|,]+/g) ?? []))];
  const article = parts[0]?.closest(".text");
  if (names.length < 2 || article.querySelector(".version-switch")) return;
  names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const label = document.createElement("label");
  label.className = "version-switch";
  label.textContent = t("Version");
  const choice = document.createElement("select");
  choice.append(new Option("all", ""), ...names.map((name) => new Option(name, name)));
  label.append(choice);
  const show = () => {
    for (const part of parts) part.hidden = Boolean(choice.value) && !isInRange(choice.value, part.dataset.range);
  };
  choice.addEventListener("change", () => {
    sessionStorage.setItem("version", choice.value);
    show();
  });
  const lastChoice = sessionStorage.getItem("version") ?? "";
  if (names.includes(lastChoice)) choice.value = lastChoice;
  show();
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.closest(".version[hidden]")) return;
    choice.value = "";
    show();
    target.scrollIntoView();
  };
  reveal();
  addEventListener("hashchange", reveal);
  const title = article.querySelector("h1");
  if (title) title.after(label);
  else article.prepend(label);
}

/** Whether a version is in a range such as ">=a-1 <b-3 || c". Versions of other products are in no range of this one. */
function isInRange(version, range) {
  const [, product, own] = /^(.*?)([\d.]*)$/.exec(version);
  return range.split(/\|\||,/).some((alternative) =>
    [...alternative.matchAll(/(>=|<=|=|>|<)?\s*([^\s<>=|,]+)/g)].every(([, sign, name]) => {
      const [, other, number] = /^(.*?)([\d.]*)$/.exec(name);
      if (other !== product) return false;
      const order = own.localeCompare(number, "en", { numeric: true });
      return { ">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0 }[sign] ?? order === 0;
    }),
  );
}

function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : systemScheme.matches;
}

/** The switch between light and dark: kept in a cookie, so that the next page is right from its first byte. */
export function startTheme() {
  const button = document.getElementById("_ui-theme");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
    document.dispatchEvent(new CustomEvent("_ui-theme"));
  });
}

function startCopyButtons(root) {
  for (const block of root.querySelectorAll(".code-block")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = t("Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("code").textContent);
      button.textContent = t("Copied");
      setTimeout(() => (button.textContent = t("Copy")), 1500);
    });
    block.append(button);
  }
}

/** The mark beside a heading copies the address of the heading, which the address bar shows, too. */
function startHeadingLinks(root) {
  for (const anchor of root.querySelectorAll("a.anchor:not(.edit-section)")) {
    anchor.addEventListener("click", async () => {
      await navigator.clipboard?.writeText(anchor.href).catch(() => {});
      anchor.dataset.copied = t("Link copied");
      setTimeout(() => delete anchor.dataset.copied, 1500);
    });
  }
}

/** Marks the heading in the outline under which the reader is. */
export function startOutline() {
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

/** Formulas are drawn by KaTeX, which is loaded only by pages that have some. */
async function startFormulas(root) {
  const formulas = root.querySelectorAll("code.math-inline, .math-block > code");
  const source = document.querySelector("meta[name='_ui-katex']");
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
        code.title = t("This formula cannot be read.");
      }
    }
  });
  document.head.append(script);
}

/** Each diagram is drawn in a frame without an origin, which sees its own source and nothing else. */
function startDiagrams(root) {
  const source = document.querySelector("meta[name='_ui-diagram']");
  if (!source) return;
  for (const block of root.querySelectorAll(".mermaid-block")) {
    const code = block.querySelector("code").textContent;
    const frame = document.createElement("iframe");
    frame.className = "diagram";
    frame.title = t("Diagram");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = source.content;
    const draw = () => frame.contentWindow.postMessage({ code, dark: isDark() }, "*");
    const end = () => {
      frame.remove();
      removeEventListener("message", listen);
      document.removeEventListener("_ui-theme", draw);
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
    document.addEventListener("_ui-theme", draw);
    systemScheme.addEventListener("change", draw);
    block.append(frame);
  }
}
