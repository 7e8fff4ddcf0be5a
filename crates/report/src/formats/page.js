"use strict";
// The page is whole without this: it sorts tables by a click on their heads, links sections to
// themselves, gives the runs as a file, and saves figures.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (!body || body.rows.length < 2) continue;
  const key = (row, at) => {
    const cell = row.cells[at];
    const value = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(value);
    return { number: Number.isFinite(number) ? number : null, text: cell.textContent.trim() };
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => ({ row, by: key(row, at) }));
      rows.sort((a, b) => {
        const numbers = a.by.number !== null && b.by.number !== null;
        const order = numbers
          ? a.by.number - b.by.number
          : a.by.text.localeCompare(b.by.text, undefined, { numeric: true });
        return down ? -order : order;
      });
      rows.forEach(({ row }) => body.append(row));
    });
  });
}
for (const part of document.querySelectorAll("h2[id], [id] > h3")) {
  const link = document.createElement("a");
  link.href = "#" + (part.id || part.parentElement.id);
  link.className = "link";
  link.textContent = "#";
  link.setAttribute("aria-label", "link to " + part.textContent);
  part.append(" ", link);
}
const raw = document.getElementById("runs");
if (raw) {
  const { columns, rows } = JSON.parse(raw.textContent);
  const field = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [columns, ...rows].map((row) => row.map(field).join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
  link.download = "runs.csv";
  link.textContent = `${rows.length} runs as CSV`;
  document.querySelector("footer").append(" ", link);
}
// Each figure can be saved: its colours are written into its elements, for outside of the page it has
// no style sheet.
const DRAWN = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight",
];
const alone = (svg) => {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((one) => [...one.querySelectorAll("*")]);
  from.forEach((element, at) => {
    const drawn = getComputedStyle(element);
    DRAWN.forEach((name) => to[at].style.setProperty(name, drawn.getPropertyValue(name)));
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS(svg.namespaceURI, "rect");
  Object.entries({ width, height, fill: "#fff" }).forEach(([name, to]) => paper.setAttribute(name, to));
  copy.prepend(paper);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
};
const hand = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const savers = {
  SVG: (svg, name) => hand(new Blob([alone(svg).text], { type: "image/svg+xml" }), name + ".svg"),
  PNG: (svg, name) => {
    const { text, width, height } = alone(svg);
    const image = new Image();
    image.onload = () => {
      // Three dots for each unit: text stays sharp in print.
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [3 * width, 3 * height];
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => hand(blob, name + ".png"), "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  },
};
for (const svg of document.querySelectorAll('svg[role="img"]')) {
  const says = svg.getAttribute("aria-label") || "figure";
  const name = says.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).slice(0, 8).join("-") || "figure";
  const row = document.createElement("div");
  row.className = "save";
  for (const [kind, save] of Object.entries(savers)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = kind;
    button.setAttribute("aria-label", `save as ${kind}: ${says}`);
    button.addEventListener("click", () => save(svg, name));
    row.append(button);
  }
  svg.after(row);
}
