// Says that the page which is being read has changed; nothing moves before the reader wants it.

export function startLive() {
  const layout = document.querySelector(".layout[data-path]");
  const box = document.getElementById("ui-live");
  if (!layout || !("EventSource" in globalThis)) return;
  let source = null;

  const listen = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource("/events");
      source.addEventListener("change", (event) => {
        const { collection, paths } = JSON.parse(event.data);
        if (collection === layout.dataset.collection && paths.includes(layout.dataset.path)) tell();
      });
    }
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => source?.close());
  listen();

  function tell() {
    const text = document.createElement("span");
    text.textContent = "This page has changed.";
    const again = document.createElement("a");
    again.href = location.pathname;
    again.textContent = "Read the new version";
    again.addEventListener("click", (event) => {
      event.preventDefault();
      location.reload();
    });
    const what = document.createElement("a");
    what.href = location.pathname.replace(/^\/p\//, "/history/");
    what.textContent = "What changed";
    box.replaceChildren(text, again, what);
  }
}
