// Runs in a frame without an origin: gets the source of one diagram, draws it, tells how high it is.
// The library stands before this text and has made `mermaid` global.
const drawer = globalThis.mermaid;
drawer.initialize({ startOnLoad: false, securityLevel: "strict", theme: "neutral", maxTextSize: 50000 });
addEventListener("message", async (event) => {
  if (event.source !== parent || typeof event.data !== "string") return;
  try {
    const { svg } = await drawer.render("diagram", event.data);
    document.body.innerHTML = svg;
    parent.postMessage({ height: Math.ceil(document.body.firstElementChild.getBoundingClientRect().height) + 8 }, "*");
  } catch {
    parent.postMessage("failed", "*");
  }
});
parent.postMessage("ready", "*");
