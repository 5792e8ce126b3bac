// The boxes of tasks, which are buttons of one form.

/** A task is ticked in place. Without an answer the form is sent as it is without scripts. */
export function startTasks() {
  const form = document.getElementById("_ui-tasks");
  form?.addEventListener("submit", async (event) => {
    const box = event.submitter;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form));
    body.set(box.name, box.value);
    const response = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } }).catch(() => null);
    const parsed = new DOMParser().parseFromString((await response?.text()) ?? "", "text/html");
    const next = parsed.querySelector("#_ui-tasks");
    const boxes = [...document.querySelectorAll(".task-box")];
    const changed = [...parsed.querySelectorAll(".task-box")];
    if (!next || boxes.length !== changed.length) {
      const sent = document.createElement("input");
      Object.assign(sent, { type: "hidden", name: box.name, value: box.value });
      form.append(sent);
      form.submit();
      return;
    }
    form.elements.revision.value = next.elements.revision.value;
    boxes.forEach((one, at) => {
      one.value = changed[at].value;
      for (const name of ["aria-checked", "aria-label"]) one.setAttribute(name, changed[at].getAttribute(name));
    });
  });
}
