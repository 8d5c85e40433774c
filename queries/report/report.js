"use strict";
(() => {
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

  const value = (cell) => ("value" in cell.dataset ? Number(cell.dataset.value || NaN) : cell.textContent.trim());
  const number = (cell) => { const n = Number(cell.textContent.replaceAll(",", "")); return Number.isNaN(n) ? -Infinity : n; };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.textContent = head.textContent;
      button.type = "button";
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "descending" ||
          (head.getAttribute("aria-sort") === "none" && !head.classList.contains("n"));
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "ascending" : "descending");
        const numeric = head.classList.contains("n"), sign = down ? 1 : -1;
        const key = (row) => {
          const cell = row.cells[column], known = value(cell);
          if (!numeric) return known;
          return typeof known === "number" ? (Number.isNaN(known) ? -Infinity : known) : number(cell);
        };
        const sorted = [...table.tBodies[0].rows].map((row) => [key(row), row]);
        sorted.sort(([a], [b]) => sign * (numeric ? a - b || 0 : a < b ? -1 : a > b ? 1 : 0));
        table.tBodies[0].append(...sorted.map(([, row]) => row));
      });
    });
  }
})();
