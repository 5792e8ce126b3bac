// Images and files that are pasted, dropped or chosen become attachments; the text gets a link to each.

/** @returns what the button for files does; null if the form takes none */
export function startUploads(form, view) {
  if (!form.dataset.upload) return null;
  const status = form.querySelector("#_ui-status");
  view.dom.addEventListener("paste", take((event) => event.clipboardData), true);
  view.dom.addEventListener("drop", take((event) => event.dataTransfer), true);
  const chooser = document.createElement("input");
  chooser.type = "file";
  chooser.multiple = true;
  chooser.hidden = true;
  form.append(chooser);
  chooser.addEventListener("change", () => {
    send([...chooser.files], view.state.selection.main.head);
    chooser.value = "";
  });
  return () => chooser.click();

  function take(transfer) {
    return (event) => {
      const files = [...(transfer(event)?.files ?? [])];
      if (!files.length) return;
      event.preventDefault();
      event.stopPropagation();
      const at = event.type === "drop" ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
      send(files, at ?? view.state.selection.main.head);
    };
  }

  async function send(files, at) {
    for (const file of files) {
      status.textContent = `Storing ${file.name} …`;
      try {
        const url = new URL(form.dataset.upload, location.href);
        url.searchParams.set("name", file.name || "image.png");
        const headers = { "content-type": "application/octet-stream", accept: "application/json" };
        const response = await fetch(url, { method: "PUT", body: file, headers });
        const answer = await response.json();
        if (!response.ok) {
          status.textContent = `${file.name} was not stored: ${[answer.error, answer.hint].filter(Boolean).join(" ") || response.status}`;
          return;
        }
        const place = Math.min(at, view.state.doc.length);
        view.dispatch({ changes: { from: place, insert: answer.markdown }, selection: { anchor: place + answer.markdown.length } });
        at = place + answer.markdown.length;
        status.textContent = `${answer.path} is stored.`;
      } catch {
        status.textContent = `${file.name} was not stored: the server does not answer.`;
        return;
      }
    }
    view.focus();
  }
}
