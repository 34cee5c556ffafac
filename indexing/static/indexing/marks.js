// Links what stands beside each other: the places of chunks on a page or in a text, and the chunks themselves. Whatever names
// the same chunk in `data-chunks` lights up together; a click shows the other side of it.
(() => {
  "use strict";
  const marks = new Map(); // chunk → its nodes
  const chunksOf = (node) => node.dataset.chunks.split(" ");
  for (const node of document.querySelectorAll("[data-chunks]")) {
    for (const chunk of chunksOf(node)) marks.set(chunk, [...(marks.get(chunk) ?? []), node]);
  }
  let lit = [];

  function light(node) {
    for (const old of lit) old.classList.remove("kb-lit");
    lit = chunksOf(node).flatMap((chunk) => marks.get(chunk));
    for (const each of lit) each.classList.add("kb-lit");
  }

  const marked = (event) => event.target.closest?.("[data-chunks]");
  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, (event) => { if (marked(event)) light(marked(event)); });
  }
  document.addEventListener("click", (event) => {
    const node = marked(event);
    if (!node || event.target.closest("a, summary") || String(getSelection())) return;
    light(node);
    const side = node.closest("[data-side]");
    lit.find((each) => each.closest("[data-side]") !== side)?.scrollIntoView({ block: "center", behavior: "smooth" });
  });
})();
