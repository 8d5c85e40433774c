"use strict";
(() => {
  const pages = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg";
  const PHASES = ["blocked", "dns", "connect", "send", "wait", "receive"];
  const LABEL = 190, ROW = 16, GAP = 24;

  const make = (name, attributes = {}, text) => {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const element = (name, className, text) => {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const ms = (value) => Math.round(value).toLocaleString("en") + " ms";
  const cut = (text, most) => (text.length <= most ? text : text.slice(0, most / 2 - 1) + "…" + text.slice(-most / 2));

  // A round distance between marks of the time axis, some six of them over the whole.
  const step = (span) => {
    const raw = span / 6, power = 10 ** Math.floor(Math.log10(raw || 1));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  };

  // A chart with zoom and rows that hover and arrow keys tell of.
  const chart = (place, title, rows, draw, tell) => {
    let zoom = 1, now = -1;
    const tools = element("div", "tools"), plot = element("div", "plot"), said = element("p", "said");
    tools.append(element("strong", "", title));
    for (const [label, name, factor] of [["−", "Smaller", 0.5], ["+", "Larger", 2]]) {
      const button = element("button", "", label);
      button.type = "button";
      button.setAttribute("aria-label", name + ": " + title);
      button.addEventListener("click", () => { zoom = Math.min(32, Math.max(1, zoom * factor)); redraw(); });
      tools.append(button);
    }
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", title + ". Arrow keys go from row to row, plus and minus zoom.");
    said.setAttribute("aria-live", "polite");
    const choose = (number) => {
      plot.querySelectorAll(".now").forEach((row) => row.classList.remove("now"));
      now = Math.max(0, Math.min(rows.length - 1, number));
      plot.querySelectorAll(`[data-row="${now}"]`).forEach((row) => row.classList.add("now"));
      said.textContent = rows.length ? tell(rows[now]) : "";
    };
    const redraw = () => {
      const width = Math.max(320, plot.clientWidth - 2);
      plot.replaceChildren(draw(LABEL + (width - LABEL) * zoom, width));
      if (now >= 0) choose(now);
    };
    plot.addEventListener("pointerover", (event) => {
      const row = event.target.closest("[data-row]");
      if (row) choose(Number(row.dataset.row));
    });
    plot.addEventListener("keydown", (event) => {
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -rows.length, End: rows.length };
      if (event.key in moves) {
        choose(now + moves[event.key]);
        plot.querySelector(".now")?.scrollIntoView({ block: "nearest" });
        event.preventDefault();
      } else if (event.key === "+" || event.key === "-") {
        zoom = Math.min(32, Math.max(1, zoom * (event.key === "+" ? 2 : 0.5)));
        redraw();
      }
    });
    place.append(tools, plot, said);
    redraw();
  };

  const axis = (svg, left, right, scale, end, height) => {
    for (let t = 0, by = step(end / Math.max(1, (right - left) / 700)); t <= end; t += by) {
      svg.append(make("line", { class: "tick", x1: left + t * scale, x2: left + t * scale, y1: 14, y2: height }));
      if (left + t * scale + 52 < right) svg.append(make("text", { x: left + t * scale + 2, y: 11 }, ms(t)));
    }
  };

  const waterfall = (place, page) => {
    const rows = page.r.map((r) => ({ host: page.h[r[0]], connection: r[1], sides: [r.slice(2, 9), r.slice(9, 16)] }));
    const ends = rows.flatMap((row) => row.sides.map((side) => side.reduce((a, b) => a + (b || 0), 0)));
    const end = Math.max(1, ...ends, ...page.t.map((t) => t || 0));
    const draw = (width) => {
      const half = (width - LABEL - GAP) / 2, scale = half / end, height = 20 + rows.length * ROW;
      const svg = make("svg", { width, height, role: "presentation" });
      [LABEL, LABEL + half + GAP].forEach((left, side) => {
        axis(svg, left, left + half, scale, end, height);
        if (page.t[side] != null) {
          const x = left + page.t[side] * scale;
          svg.append(make("line", { class: "load", x1: x, x2: x, y1: 14, y2: height }));
        }
      });
      rows.forEach((row, number) => {
        const y = 20 + number * ROW, group = make("g", { class: "row", "data-row": number });
        group.append(make("rect", { class: "hit", x: 0, y, width, height: ROW }));
        group.append(make("text", { x: 4, y: y + 12 }, cut(row.host, 30)));
        row.sides.forEach((side, place_) => {
          let x = (place_ ? LABEL + half + GAP : LABEL) + side[0] * scale;
          PHASES.forEach((phase, index) => {
            const length = (side[index + 1] || 0) * scale;
            if (length > 0.05) group.append(make("rect", { class: phase, x, y: y + 2, width: length, height: ROW - 4 }));
            x += length;
          });
        });
        svg.append(group);
      });
      return svg;
    };
    const told = (side) => PHASES.map((phase, i) => [phase, side[i + 1] || 0]).filter((one) => one[1] > 0)
      .map((one) => one[0] + " " + ms(one[1])).join(", ");
    const title = "Requests: measured (left), with ORIGIN by the paper's model (right), one scale";
    chart(place, title, rows, draw, (row) =>
      `${row.host}${row.connection ? ", connection " + row.connection : ""}: from ${ms(row.sides[0][0])}, ${told(row.sides[0])}. ` +
      `With ORIGIN: from ${ms(row.sides[1][0])}, ${told(row.sides[1])}.`);
    const key = element("p", "key");
    for (const phase of PHASES) {
      const item = element("span", ""), swatch = make("svg", { width: 12, height: 12, "aria-hidden": "true" });
      swatch.append(make("rect", { class: phase, width: 12, height: 12 }));
      item.append(swatch, phase);
      key.append(item);
    }
    place.append(key);
  };

  const lanes = (place, page, table) => {
    const rows = page.l.filter((lane) => lane[1] != null);
    if (!rows.length) return;
    const end = Math.max(1, ...rows.map((lane) => lane[2] ?? lane[1]), page.t[0] || 0);
    const draw = (width) => {
      const scale = (width - LABEL - 4) / end, height = 20 + rows.length * ROW;
      const svg = make("svg", { width, height, role: "presentation" });
      axis(svg, LABEL, width, scale, end, height);
      rows.forEach((lane, number) => {
        const y = 20 + number * ROW, group = make("g", { class: "row", "data-row": number });
        const name = `${lane[0]} ${lane[4]}${lane[5] > 1 ? " +" + (lane[5] - 1) : ""}`;
        group.append(make("rect", { class: "hit", x: 0, y, width, height: ROW }));
        group.append(make("text", { x: 4, y: y + 12 }, cut(name, 32)));
        const length = Math.max(2, ((lane[2] ?? end) - lane[1]) * scale);
        group.append(make("rect", {
          class: lane[3] ? "lane extra" : "lane", x: LABEL + lane[1] * scale, y: y + 3, width: length, height: ROW - 6,
        }));
        svg.append(group);
      });
      return svg;
    };
    chart(place, "Connections: those that an earlier one could have served are orange", rows, draw, (lane) => {
      const row = table?.tBodies[0].rows[lane[0] - 1];
      return `Connection ${lane[0]}: ` + (row ? row.cells[1].textContent + ". " + row.cells[4].textContent.trim() : lane[4]);
    });
  };

  const open = (details) => {
    if (details.dataset.drawn) return;
    details.dataset.drawn = "1";
    const page = pages[Number(details.dataset.page)];
    for (const place of details.querySelectorAll("[data-chart]")) {
      if (place.dataset.chart === "waterfall") waterfall(place, page);
      else lanes(place, page, details.querySelector("table.connections"));
    }
  };
  for (const details of document.querySelectorAll("details.page")) {
    details.addEventListener("toggle", () => { if (details.open) open(details); });
    if (details.open) open(details);
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));

  const value = (cell) => ("value" in cell.dataset ? Number(cell.dataset.value || NaN) : cell.textContent.trim());
  const number = (cell) => { const n = Number(cell.textContent.replaceAll(",", "")); return Number.isNaN(n) ? -Infinity : n; };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = element("button", "", head.textContent);
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
