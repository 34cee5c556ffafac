// Keeps the states on the list and on a document's page true while versions are being indexed, without reloading the page:
// one question for all that are. Text is only ever set as text.
(() => {
  "use strict";
  const board = document.querySelector("[data-states-url]");
  if (!board) return;

  const EVERY = 3000, LONGEST = 30000; // milliseconds
  let pause = EVERY, timer = null;

  const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const indexing = () => [...document.querySelectorAll('[data-document][data-state="INDEXING"]')].slice(0, 50);

  function show(mark, status) {
    const part = mark.closest("tr") ?? mark;
    for (const node of part.querySelectorAll("[data-field]")) setText(node, String(status[node.dataset.field] ?? ""));
    for (const node of part.querySelectorAll("[data-when]")) node.hidden = !status[node.dataset.when];
    for (const node of document.querySelectorAll("[data-tag]")) {
      node.hidden = status[node.dataset.tag] !== Number(node.dataset.number);
    }
    part.querySelector('[data-field="error"]').className = status.look === "CANCELLED" ? "kb-hint" : "kb-error";
    part.querySelector("[data-badge]").className = `kb-badge kb-${status.look.toLowerCase()}`;
    mark.dataset.state = status.state;
    const bar = part.querySelector("progress");
    if (!bar) return;
    bar.hidden = !status.total;
    bar.max = status.total || 1;
    bar.value = status.done;
  }

  async function ask() {
    timer = null;
    if (document.hidden) return; // asks again when the page is looked at
    const marks = indexing();
    const query = new URLSearchParams(marks.map((mark) => ["id", mark.dataset.document]));
    try {
      const response = await fetch(`${board.dataset.statesUrl}?${query}`, {
        headers: { Accept: "application/json" }, credentials: "same-origin", redirect: "manual",
      });
      if (response.type === "opaqueredirect" || response.status === 403) return; // logged out
      if (!response.ok) throw new Error(String(response.status));
      const states = await response.json();
      for (const mark of marks) {
        const status = states[mark.dataset.document];
        if (status) show(mark, status);
        else mark.dataset.state = ""; // gone
      }
      pause = EVERY;
    } catch {
      pause = Math.min(pause * 2, LONGEST);
    }
    plan();
  }

  function plan() {
    if (timer === null && indexing().length) timer = setTimeout(ask, pause);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && timer === null && indexing().length) ask();
  });
  plan();
})();
