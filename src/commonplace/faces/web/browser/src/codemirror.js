// CodeMirror in place of the text area of an edit form. It stands in a shadow root, where it may add its own styles
// without the page's policy allowing any.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { markdown, markdownLanguage } from "@codemirror/lang-markdown";
import { yamlFrontmatter } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions } from "./editor-completions.js";
import { FORMATS, toggleMarks } from "./editor-formats.js";

const LARGE = 100_000;
const HIGHLIGHTS = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "650", color: "var(--tok-name)" },
  { tag: tags.strong, fontWeight: "650" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: tags.monospace, color: "var(--tok-string)" },
  { tag: tags.quote, color: "var(--muted)" },
  { tag: [tags.processingInstruction, tags.meta, tags.comment], color: "var(--tok-comment)" },
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--tok-keyword)" },
  { tag: [tags.keyword, tags.tagName], color: "var(--tok-keyword)" },
  { tag: [tags.string, tags.attributeValue], color: "var(--tok-string)" },
  { tag: [tags.number, tags.bool], color: "var(--tok-number)" },
]);

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "15px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: ".8rem 1rem", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-soft)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: ".4rem .6rem", fontFamily: "var(--sans)" },
  ".cm-panel.cm-search label": { fontSize: ".85rem" },
  ".cm-textfield": { border: "1px solid var(--muted)", borderRadius: "6px", background: "var(--paper)", color: "var(--ink)", padding: ".15em .4em" },
  ".cm-button": { border: "1px solid var(--line)", borderRadius: "6px", background: "var(--paper)", backgroundImage: "none", color: "var(--ink)", padding: ".15em .6em" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)", color: "var(--mark-ink)" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--sans)", maxHeight: "16em", padding: ".3rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".2rem .5rem", borderRadius: "6px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal" },
});

/** @returns the editor's view; its text is that of the form's text area, which is hidden */
export function createView(form) {
  const area = form.elements.text;
  const host = document.createElement("div");
  host.className = "edit-host";
  area.after(host);
  const root = host.attachShadow({ mode: "open" });
  const label = form.querySelector(`label[for="${area.id}"]`)?.textContent.trim() || "Text";
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: area.value, extensions: extensions(form, area, label) }),
  });
  area.hidden = true;
  form.querySelector(`label[for="${area.id}"]`)?.addEventListener("click", () => view.focus());
  return view;
}

/** Front matter is read as YAML, except in a large text: its parser reads the whole body anew at every key. */
function language(text) {
  const content = markdown({ base: markdownLanguage, completeHTMLTags: false });
  return text.startsWith("---") && text.length < LARGE ? yamlFrontmatter({ content }) : content;
}

function extensions(form, area, label) {
  return [
    history(),
    drawSelection(),
    highlightSelectionMatches({ minSelectionLength: 3 }),
    search({ top: true }),
    EditorView.lineWrapping,
    language(area.value),
    syntaxHighlighting(HIGHLIGHTS),
    autocompletion({ override: completions(form), icons: false, maxRenderedOptions: 50 }),
    keymap.of([
      { key: "Mod-s", run: () => form.dispatchEvent(new CustomEvent("_ui-save")), preventDefault: true },
      { key: "Mod-f", run: openSearchPanel },
      ...Object.values(FORMATS).filter((one) => one.key).map((one) => ({ key: one.key, run: toggleMarks(one) })),
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", autocapitalize: "on" }),
    THEME,
    EditorView.updateListener.of((update) => {
      if (update.docChanged) form.dispatchEvent(new CustomEvent("_ui-changed"));
    }),
  ];
}
