// Puts the new version of a text in place of the one that is being read, and marks what came and what went.

const MAX_COMPARED = 1_000_000;

/**
 * @param article the text that is shown
 * @param written the HTML of each of its parts as the server sent it, before scripts changed it
 * @param enhance called with each part that is new
 * @returns what happened as a sentence; "" if the new version cannot be shown
 */
export async function showChanges(article, written, enhance) {
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!response.ok) return "";
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  const next = parsed.querySelector("article.text");
  if (!next) return "";
  const before = [...written.keys()].filter((one) => one.isConnected);
  const after = [...next.children];
  const kept = common(before.map((one) => written.get(one)), after.map((one) => one.outerHTML));
  const steady = before.find((one, at) => kept.has(at) && one.getBoundingClientRect().bottom > 0);
  const top = steady?.getBoundingClientRect().top ?? 0;
  const counts = merge(article, before, after, kept, written);
  for (const one of counts.came) enhance(one);
  replaceFoot(parsed);
  if (steady) scrollBy(0, steady.getBoundingClientRect().top - top);
  if (!counts.came.length && !counts.gone) return "Nothing in the text changed.";
  return `${counts.came.length} new, ${counts.gone} gone: marked in the text.`;
}

/** Puts the foot of the new version in place: its last change and the pages that link to it. */
function replaceFoot(parsed) {
  const old = document.querySelector("footer.page-foot");
  const next = parsed.querySelector("footer.page-foot");
  if (!old || !next) return;
  // Scripts listen to these elements, and fill one of them, so that they stay.
  for (const name of ["details[data-src]", "[data-sections]"]) {
    const kept = old.querySelector(name);
    if (kept) next.querySelector(name)?.replaceWith(kept);
  }
  old.replaceWith(next);
}

/** Which parts stay: the place of each in the new version by its place in the old one. */
function common(before, after) {
  const kept = new Map();
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) kept.set(start, start++);
  let oldEnd = before.length;
  let newEnd = after.length;
  while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) kept.set(--oldEnd, --newEnd);
  const rows = oldEnd - start;
  const columns = newEnd - start;
  if (rows * columns === 0 || rows * columns > MAX_COMPARED) return kept;
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  for (let a = rows - 1; a >= 0; a--) {
    for (let b = columns - 1; b >= 0; b--) {
      const same = before[start + a] === after[start + b];
      const down = lengths[(a + 1) * width + b];
      const right = lengths[a * width + b + 1];
      lengths[a * width + b] = same ? lengths[(a + 1) * width + b + 1] + 1 : Math.max(down, right);
    }
  }
  for (let a = 0, b = 0; a < rows && b < columns; ) {
    if (before[start + a] === after[start + b]) kept.set(start + a++, start + b++);
    else if (lengths[(a + 1) * width + b] >= lengths[a * width + b + 1]) a++;
    else b++;
  }
  return kept;
}

function merge(article, before, after, kept, written) {
  const came = [];
  let gone = 0;
  let next = 0;
  const add = (until, reference) => {
    for (; next < until; next++) {
      const one = document.importNode(after[next], true);
      written.set(one, one.outerHTML);
      const frame = framed("insertion", one);
      article.insertBefore(frame, reference);
      came.push(frame);
    }
  };
  before.forEach((one, at) => {
    const frame = one.parentElement === article ? one : one.parentElement;
    if (kept.has(at)) {
      add(kept.get(at), frame);
      next = kept.get(at) + 1;
      return;
    }
    const marked = framed("deletion", one.cloneNode(true));
    for (const named of marked.querySelectorAll("[id]")) named.removeAttribute("id");
    frame.replaceWith(marked);
    written.delete(one);
    gone++;
  });
  add(after.length, null);
  return { came, gone };
}

function framed(role, one) {
  const frame = document.createElement("div");
  frame.className = role;
  frame.setAttribute("role", role);
  frame.append(one);
  return frame;
}
