// The drawers and the header: sections load when they are opened, and the header is away while somebody reads down.

export function startNavigation() {
  startHeader();
  startDrawers();
  const nav = document.getElementById("_ui-nav");
  if (!nav) return;
  showCurrent(nav);
  nav.addEventListener("toggle", (event) => {
    if (event.target === nav) showCurrent(nav);
    else if (event.target.open && event.target.dataset.src) load(event.target);
  }, true);
  nav.addEventListener("click", (event) => {
    const more = event.target.closest("a[data-more]");
    if (!more || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    replaceRows(more);
  });
}

/** Scrolls the navigation, and only it, until the page that is read is in its middle. */
function showCurrent(nav) {
  const current = nav.querySelector("[aria-current=page]");
  if (!current || !nav.clientHeight) return;
  const [inner, outer] = [current.getBoundingClientRect(), nav.getBoundingClientRect()];
  if (inner.top < outer.top + 40 || inner.bottom > outer.bottom - 40) nav.scrollTop += inner.top - outer.top - outer.height / 2;
}

/** The rows of a section: a server sends only those that are asked for, a published file has all of them. */
async function fragment(url) {
  const [address, range] = url.split("#");
  const response = await fetch(address);
  if (!response.ok) return [];
  const body = new DOMParser().parseFromString(await response.text(), "text/html").body;
  const rows = [...(body.querySelector("main .nav-tree > ul") ?? body.firstElementChild).children];
  for (const element of rows.flatMap((row) => [...row.querySelectorAll("a, details")])) absolute(element, response.url);
  const [start, end] = (range ?? "").split("-").map(Number);
  return range ? rows.slice(start, end || undefined) : rows;
}

/** Links of a published file are relative to the file. */
function absolute(element, base) {
  for (const name of ["href", "data-src", "data-more"]) {
    const value = element.getAttribute(name);
    if (value) element.setAttribute(name, new URL(value, base).href);
  }
}

/** Fills a section when it is opened for the first time. A section that changed meanwhile keeps its link. */
async function load(details) {
  const source = details.dataset.src;
  delete details.dataset.src;
  const rows = await fragment(source);
  if (rows.length) details.querySelector("ul").replaceChildren(...rows);
}

/** Puts the further rows of a long section in the place of the link to them. */
async function replaceRows(more) {
  const rows = await fragment(more.dataset.more);
  if (!rows.length) return void (location.href = more.href);
  more.parentElement.replaceWith(...rows);
  rows[0].querySelector("a, summary")?.focus();
}

function startDrawers() {
  document.getElementById("_ui-info")?.addEventListener("click", (event) => {
    const drawer = event.currentTarget;
    if (event.target.closest("a[href^='#']") && drawer.matches(":popover-open")) drawer.hidePopover();
  });
  document.querySelector(".search-link")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("_ui-search").focus();
  });
}

function startHeader() {
  const top = document.getElementById("_ui-top");
  if (!top) return;
  top.classList.add("floating");
  let last = scrollY;
  addEventListener("scroll", () => {
    if (Math.abs(scrollY - last) < 8) return;
    top.classList.toggle("away", scrollY > last && scrollY > 120);
    last = scrollY;
  }, { passive: true });
}
