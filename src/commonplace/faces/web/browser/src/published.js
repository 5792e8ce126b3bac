// What scripts add to published files: no server answers, so search reads the index that was written beside the pages.
import { startKeys } from "./keys.js";
import { startNavigation } from "./navigation.js";
import { enhance, startOutline, startTheme } from "./reading.js";
import { startSearch } from "./search.js";
import { count, t } from "./messages.js";

const index = document.querySelector("meta[name='_ui-search-index']");
const root = new URL(document.querySelector("meta[name='_ui-root']").content, location.href);
const MOST_CHANGED = 50;
/** Rows of a search that are shown at first, and in all: the text of each is a file of its own. */
const ROWS = [10, 50];
let engines = null;

startTheme();
startNavigation();
startKeys();
enhance(document);
startOutline();
restoreTheme();
if (index) {
  startSearch(suggestions);
  showResults();
}

/** A file has no cookie to read, so the chosen colors are set when the page is there. */
function restoreTheme() {
  const theme = /(?:^|; )theme=(light|dark)/.exec(document.cookie)?.[1];
  if (theme) document.documentElement.dataset.theme = theme;
}

/** The whole index and, if some pages have changed since it was made, one of these; then their old entries are gone. */
async function indexes() {
  const whole = new URL(index.content, location.href).href;
  const [engine, changes] = await Promise.all([import(whole), fetch(new URL("changes.json", whole)).then((answer) => answer.json())]);
  return { whole: engine, gone: changes.gone, changed: changes.index ? await import(new URL("changes/pagefind.js", whole).href) : null };
}

/** The rows of an index with their scores; what is superseded, retired or expired is marked. */
async function rowsOf(engine, query) {
  const [all, lapsed] = await Promise.all([matches(engine, query), matches(engine, query, { filters: { lapsed: "yes" } })]);
  const after = new Set(lapsed.map(({ row }) => row.id));
  return all.map(({ row, score }) => ({ row, lapsed: after.has(row.id), score }));
}

/** The rows that have all parts of a query, and the sums of their scores. */
async function matches(engine, query, options) {
  const answers = await Promise.all(partsOf(query).map((part) => engine.search(part, options)));
  const [first, ...others] = answers.map(({ results }) => new Map(results.map((row) => [row.id, row])));
  return [...first.values()]
    .filter((row) => others.every((rows) => rows.has(row.id)))
    .map((row) => ({ row, score: others.reduce((sum, rows) => sum + rows.get(row.id).score, row.score) }));
}

/** Characters of the scripts that the index has character by character (`SPACELESS` of domain/words/grams.py). */
const SPACELESS = "\\u1100-\\u11ff\\u3131-\\u318e\\uac00-\\ud7a3\\u2e80-\\u2fd5\\u3005-\\u3007\\u3021-\\u3029\\u3040-\\u309f\\u30a0-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}\\u0e00-\\u0e7f\\u0e80-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u0f00-\\u0fff";
const IS_SPACELESS = new RegExp(`[${SPACELESS}]`, "u");
const CHARACTER_END = new RegExp(`(?<=[${SPACELESS}])(?=[\\p{L}\\p{N}_])|(?<=[\\p{L}\\p{N}_])(?=[${SPACELESS}])(?=[\\p{L}\\p{N}_])`, "gu");

/** The searches whose rows a query has in common: words, and a phrase for each run of such characters. */
function partsOf(query) {
  if (!IS_SPACELESS.test(query)) return [query];
  const inner = /^\s*"(.+)"\s*$/.exec(query)?.[1];
  const runs = inner ? [inner] : query.replaceAll('"', " ").split(/[\s\p{P}]+/u).filter(Boolean);
  const phrases = runs.filter((run) => IS_SPACELESS.test(run)).map((run) => run.replace(CHARACTER_END, " "));
  const words = runs.filter((run) => !IS_SPACELESS.test(run)).join(" ");
  return [...phrases.map((phrase) => (phrase.includes(" ") ? `"${phrase}"` : phrase)), ...(words ? [words] : [])];
}

/** The texts of a row without the ends of characters that the index has, and title and content folded. */
async function pageOf({ row }) {
  const page = await row.data();
  const [content, title] = [joined(page.content), joined(page.meta.title)];
  return {
    ...page,
    folded: fold(`${title} ${content}`),
    excerpt: joined(page.excerpt),
    meta: { ...page.meta, title },
    sub_results: page.sub_results?.map((part) => ({ ...part, title: joined(part.title) })),
  };
}

function joined(text) {
  return text?.replace(/\u2060<\/mark> <mark>/g, "").replace(/\u2060(<\/mark>)? /g, "$1").replaceAll("\u2060", "");
}

/** Changed pages have the scores of their old entries: a score within few pages says nothing among many. */
async function changedRows(engine, query, gone, whole) {
  const rows = (await rowsOf(engine, query)).slice(0, MOST_CHANGED);
  const before = new Map(whole.map(({ row, score }) => [row.id, score]));
  const best = Math.max(0, ...before.values());
  const pages = await Promise.all(rows.map(pageOf));
  return rows.map((row, at) => ({ ...row, score: before.get(gone[pages[at].raw_url.replace(/^\//, "")]) ?? best }));
}

/** Rows in order, without those that only share a letter with a word: the index shortens a word until something begins with it. */
async function found(query, limit) {
  const { rows } = await ranked(query);
  const pages = await Promise.all(rows.slice(0, limit).map(pageOf));
  const alike = pages.filter((page) => isAlike(page, query));
  return { total: rows.length - pages.length + alike.length, rows: alike };
}

/** The rows of a query; if no page has all of its words, those with any of them, with most of them first. */
async function foundAny(query, limit) {
  const all = await found(query, limit);
  const words = wordsOf(query);
  if (all.total || words.length < 2 || query.includes('"')) return { ...all, any: false };
  const pages = new Map();
  for (const word of words) {
    for (const page of (await found(word, limit)).rows) pages.set(page.url, { page, count: (pages.get(page.url)?.count ?? 0) + 1 });
  }
  const rows = [...pages.values()].sort((a, b) => b.count - a.count).map(({ page }) => page);
  return { total: rows.length, rows: rows.slice(0, limit), any: rows.length > 0 };
}

function fold(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function wordsOf(text) {
  const parts = new Intl.Segmenter(document.documentElement.lang, { granularity: "word" }).segment(text);
  return [...new Set([...parts].filter((part) => part.isWordLike).map((part) => fold(part.segment)))];
}

/** Whether a page has a word of a query, or one with its first letters: three, and more than half of them. */
function isAlike(page, query) {
  const text = page.folded;
  const words = wordsOf(query);
  if (!words.length || words.some((word) => text.includes(word))) return true;
  const beginnings = words.map((word) => [...word].slice(0, Math.max(3, Math.ceil(word.length * 0.6))).join(""));
  return wordsOf(text).some((word) => beginnings.some((beginning) => word.startsWith(beginning)));
}

async function ranked(query) {
  engines ??= indexes();
  const { whole, gone, changed } = await engines;
  const before = await rowsOf(whole, query);
  const old = new Set(Object.values(gone));
  const rows = before.filter(({ row }) => !old.has(row.id));
  if (changed) rows.push(...(await changedRows(changed, query, gone, before)));
  // What holds comes before what is superseded, retired or expired, as on a server.
  rows.sort((a, b) => a.lapsed - b.lapsed || b.score - a.score);
  return { rows };
}

/** Pages of the index are named from its folder; addresses here are those of the pages as they lie on this host. */
function address(row) {
  return new URL(row.raw_url.replace(/^\//, ""), root).href;
}

function marked(text) {
  const box = document.createElement("span");
  for (const piece of text.split(/(<mark>.*?<\/mark>)/)) {
    const isMark = piece.startsWith("<mark>");
    const part = document.createElement(isMark ? "mark" : "span");
    part.textContent = piece.replace(/<\/?mark>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    box.append(part);
  }
  return box;
}

/** The mark of a page, or of its section, that does not hold any more. */
function statusOf(row, section) {
  return row.meta.status ?? JSON.parse(row.meta.sections ?? "{}")[section?.anchor.id];
}

async function suggestions(query) {
  if (!query) return [];
  const { rows } = await found(query, 8);
  const list = document.createElement("ul");
  list.setAttribute("role", "listbox");
  list.id = "_ui-options";
  list.setAttribute("aria-label", t("Pages"));
  rows.forEach((row, at) => {
    const section = row.sub_results?.find((one) => one.anchor);
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.id = `_ui-option-${at + 1}`;
    const link = document.createElement("a");
    link.tabIndex = -1;
    link.href = address(row) + (section ? `#${section.anchor.id}` : "");
    item.dataset.url = link.href;
    const title = document.createElement("b");
    title.dir = "auto";
    title.textContent = row.meta.title;
    const snippet = marked(row.excerpt);
    snippet.className = "snippet";
    snippet.dir = "auto";
    link.append(title);
    if (section) {
      const heading = document.createElement("span");
      heading.className = "heading";
      heading.textContent = section.title;
      link.append(" ", heading);
    }
    const mark = statusOf(row, section);
    if (mark) {
      const status = document.createElement("span");
      status.className = "where";
      status.textContent = mark;
      link.append(" ", status);
    }
    link.append(snippet);
    item.append(link);
    list.append(item);
  });
  if (rows.length) return [list];
  const none = document.createElement("p");
  none.textContent = t("Nothing is found by these words.");
  return [none];
}

/** The words of a search that no page of the rows has as they are written. */
function missingWords(query, rows) {
  return wordsOf(query).filter((word) => !rows.some((row) => row.folded.includes(word)));
}

/** The page of a search: the words stand in its address. */
async function showResults() {
  const list = document.getElementById("_ui-results");
  if (!list) return;
  // Of an unknown address, the words of its path lead to the nearest pages.
  const words = "nearest" in list.dataset ? decodeURIComponent(location.pathname).split("/").filter(Boolean).pop()?.replace(/\.html$/, "").replace(/[-_]+/g, " ") ?? "" : "";
  const query = new URLSearchParams(location.search).get("q")?.trim() ?? words;
  for (const input of document.querySelectorAll("input[name=q]")) input.value = query;
  if (!query) return;
  for (const limit of ROWS) {
    const answer = await foundAny(query, limit);
    showRows(list, query, answer);
    if (!answer.any && answer.total <= answer.rows.length) return;
  }
}

/** Show the rows of a search in place of fewer ones; rows that are there already stay. */
function showRows(list, query, { total, rows, any }) {
  const missing = "nearest" in list.dataset ? [] : missingWords(query, rows);
  const said = [total === 1 ? t("1 page") : t("{n} pages", { n: count(total) })];
  if (!total) said.push(t("Nothing is found by these words."));
  if (any) said.push(t("No page has all of these words; the pages shown have one of them."));
  if (total && missing.length) said.push(t("None of the pages shown contains {words}; they have words like it.", { words: missing.join(", ") }));
  document.getElementById("_ui-results-count").textContent = said.join(". ");
  const shown = [...list.querySelectorAll("h2 a")];
  const same = shown.length < rows.length && shown.every((link, at) => link.href === address(rows[at]));
  if (!same) list.replaceChildren();
  list.append(...rows.slice(list.children.length).map((row) => {
    const item = document.createElement("li");
    const heading = document.createElement("h2");
    const link = document.createElement("a");
    link.href = address(row);
    link.dir = "auto";
    link.textContent = row.meta.title;
    heading.append(link);
    item.append(heading);
    const section = row.sub_results?.find((one) => one.anchor);
    const mark = statusOf(row, section);
    if (mark) {
      const where = document.createElement("p");
      where.className = "where";
      const status = document.createElement("strong");
      status.className = "status";
      status.textContent = row.meta.status ? mark : `${section.title}: ${mark}`;
      where.append(status);
      item.append(where);
    }
    const snippet = document.createElement("p");
    snippet.className = "snippet";
    snippet.dir = "auto";
    snippet.append(marked(row.excerpt));
    item.append(snippet);
    return item;
  }));
}
