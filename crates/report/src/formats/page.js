"use strict";
// The page is whole without this: it sorts tables by a click on their heads, links sections to
// themselves, and gives the runs as a file.
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
