// Cells pasted from a spreadsheet: which go where, and how their decimals are written.

/** Rows of cells, if the text is more than one cell. */
export function block(text) {
  const rows = text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((line) => line.split("\t").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  return rows.length > 1 || rows[0].length > 1 ? rows : null;
}

/** Decimal commas, if any number has one. */
export const decimals = (texts) => (texts.some((text) => /^\s*[<>]?\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*$/.test(text)) ? "comma" : "point");

/**
 * Puts pasted cells into the grid and says what was done. A block with a row of names goes by names, and by `experiment` and
 * `replicate` if it has them; any other goes to the right and down from the cell it was pasted into. Empty cells change nothing.
 */
export function place(pasted, rows, columns, row, column, put) {
  const heads = pasted[0].map((cell) => columns.findIndex((name) => name.toLowerCase() === cell.toLowerCase()));
  const named = heads.filter((k) => k >= 0).length >= 2 || (heads.length === 1 && heads[0] >= 0);
  const at = (name) => pasted[0].findIndex((cell) => cell.toLowerCase() === name);
  const [experiment, replicate] = [named ? at("experiment") : -1, named ? at("replicate") : -1];
  const start = rows.indexOf(row);
  const first = columns.indexOf(column);
  let [filled, skipped, outside] = [0, 0, 0];
  (named ? pasted.slice(1) : pasted).forEach((cells, k) => {
    const to = experiment >= 0
      ? rows.find((one) => one.experiment === cells[experiment] && String(one.replicate) === String(replicate >= 0 ? cells[replicate] : 1))
      : rows[start + k];
    if (!to) { outside += 1; return; }
    if (to.recorded) { skipped += 1; return; }
    cells.forEach((cell, c) => {
      const name = columns[named ? heads[c] : first + c];
      if (cell === "") return;
      if (name === undefined) {
        if (!named) outside += 1;
        return;
      }
      put(to.key, name, cell);
      filled += 1;
    });
  });
  return [`${filled} cells pasted.`, skipped ? `${skipped} rows are recorded already and were left as they are.` : "", outside ? `${outside} rows or cells did not fit into the table.` : ""].filter(Boolean).join(" ");
}
