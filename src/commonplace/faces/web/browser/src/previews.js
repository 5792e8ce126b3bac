// A small window with the beginning of a linked page, by mouse and by keyboard.

const DELAY = 350;

export function startPreviews() {
  let box = null;
  let timer = null;
  let link = null;

  for (const text of document.querySelectorAll("article.text, .backlinks")) {
    text.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") begin(event.target);
    });
    text.addEventListener("pointerout", (event) => {
      if (!box?.contains(event.relatedTarget)) end();
    });
    text.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) begin(event.target);
    });
    text.addEventListener("focusout", end);
  }
  addEventListener("keydown", (event) => event.key === "Escape" && end());

  function begin(target) {
    const found = target.closest?.("a[href^='/p/']");
    if (!found || found === link) return;
    end();
    link = found;
    timer = setTimeout(show, DELAY);
  }

  function end() {
    clearTimeout(timer);
    link = null;
    box?.remove();
    box = null;
  }

  async function show() {
    const wanted = link;
    const url = new URL(wanted.href);
    const fragment = url.hash ? `?fragment=${encodeURIComponent(decodeURIComponent(url.hash.slice(1)))}` : "";
    const response = await fetch(url.pathname.replace(/^\/p\//, "/preview/") + fragment);
    if (!response.ok || link !== wanted) return;
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    if (link !== wanted) return;
    box = document.createElement("div");
    box.className = "preview";
    box.setAttribute("role", "tooltip");
    for (const marked of parsed.querySelectorAll(".text [id]")) marked.removeAttribute("id");
    box.append(...parsed.body.childNodes);
    document.body.append(box);
    const place = wanted.getBoundingClientRect();
    const left = Math.min(Math.max(8, place.left), innerWidth - box.offsetWidth - 8);
    const below = place.bottom + box.offsetHeight + 12 < innerHeight;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${(below ? place.bottom + 6 : Math.max(8, place.top - box.offsetHeight - 6)) + scrollY}px`;
    box.addEventListener("pointerleave", end);
  }
}
