// Runs in a frame without an origin: gets the source of one diagram, draws it, tells how high it is.
// The library stands before this text and has made `mermaid` global.
const drawer = globalThis.mermaid;
addEventListener("message", async (event) => {
  if (event.source !== parent || typeof event.data?.code !== "string") return;
  try {
    const theme = event.data.dark ? "dark" : "neutral";
    drawer.initialize({ startOnLoad: false, securityLevel: "strict", theme, maxTextSize: 50000 });
    const { svg } = await drawer.render("diagram", event.data.code);
    document.body.innerHTML = svg;
    parent.postMessage({ height: Math.ceil(document.body.firstElementChild.getBoundingClientRect().height) + 8 }, "*");
  } catch {
    parent.postMessage("failed", "*");
  }
});
parent.postMessage("ready", "*");
