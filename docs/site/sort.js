// The table of findings is sorted by the column whose head is pressed, once more for the other direction.
for (const table of document.querySelectorAll("table:has(span[id^=finding-])")) {
  const body = table.tBodies[0];
  const text = (row, column) => row.cells[column].textContent.trim();
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => text(a, column).localeCompare(text(b, column), "en", { numeric: true }));
      body.append(...(down ? rows.reverse() : rows));
    });
    head.append(button);
  });
}
