// Keeps the state on a document's page true while a version is being indexed, without reloading the page.
// Text is only ever set as text.
(() => {
  "use strict";
  const card = document.querySelector("[data-status-url]");
  if (!card) return;

  const EVERY = 2000, LONGEST = 30000; // milliseconds
  let pause = EVERY, timer = null;

  const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };

  function show(status) {
    for (const node of card.querySelectorAll("[data-field]")) setText(node, String(status[node.dataset.field] ?? ""));
    for (const node of card.querySelectorAll("[data-when]")) node.hidden = !status[node.dataset.when];
    for (const node of document.querySelectorAll("[data-tag]")) {
      node.hidden = status[node.dataset.tag] !== Number(node.dataset.number);
    }
    const error = card.querySelector('[data-field="error"]');
    error.hidden = !status.error;
    card.querySelector("[data-badge]").className = `kb-badge kb-${status.state.toLowerCase()}`;
    card.dataset.state = status.state;
    const bar = card.querySelector("progress");
    bar.hidden = !status.total;
    bar.max = status.total || 1;
    bar.value = status.done;
  }

  async function ask() {
    timer = null;
    if (document.hidden) return; // asks again when the page is looked at
    try {
      const response = await fetch(card.dataset.statusUrl, {
        headers: { Accept: "application/json" }, credentials: "same-origin", redirect: "manual",
      });
      if (response.type === "opaqueredirect" || response.status === 403 || response.status === 404) return; // logged out, or gone
      if (!response.ok) throw new Error(String(response.status));
      show(await response.json());
      pause = EVERY;
    } catch {
      pause = Math.min(pause * 2, LONGEST);
    }
    plan();
  }

  function plan() {
    if (timer === null && card.dataset.state === "INDEXING") timer = setTimeout(ask, pause);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && timer === null && card.dataset.state === "INDEXING") ask();
  });
  plan();
})();
