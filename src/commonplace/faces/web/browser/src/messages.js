// The words of scripts in the page's language: the page has those that differ from English.

const data = document.getElementById("_ui-messages");
const messages = data ? JSON.parse(data.textContent) : {};
const language = document.documentElement.lang || "en";

/** A text with its values, such as `{n}`. */
export function t(english, values = {}) {
  return (messages[english] ?? english).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** A number with the language's signs between thousands. */
export function count(number) {
  return number < 1000 ? String(number) : number.toLocaleString(language);
}
