// The table of answers: search it, and show hits, misses or words not asked.
"use strict";
(() => {
  for (const tools of document.querySelectorAll(".tools")) {
    const rows = [...document.getElementById(tools.dataset.table).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLocaleLowerCase());
    const input = tools.querySelector("input");
    const buttons = [...tools.querySelectorAll("button")];
    const output = tools.querySelector("output");
    let kind = "";
    const show = () => {
      const wanted = input.value.trim().toLocaleLowerCase();
      let shown = 0;
      rows.forEach((row, i) => {
        const visible = (!kind || row.dataset.kind === kind) && (!wanted || texts[i].includes(wanted));
        row.hidden = !visible;
        shown += visible;
      });
      output.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    };
    input.addEventListener("input", show);
    for (const button of buttons)
      button.addEventListener("click", () => {
        kind = button.dataset.kind;
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        show();
      });
    show();
  }
})();
