// What was read from a file: its first rows, and how to read it otherwise.

import { el } from "./dom.js";

export const previewTable = (preview) => el("details", { open: preview.cells.length <= 20, id: "first-rows" },
  el("summary", {}, "The first rows"),
  el("div", { class: "scroll preview", tabindex: "0", role: "region", "aria-label": "The first rows" },
    el("table", {}, el("thead", {}, el("tr", {}, preview.header.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, preview.cells.slice(0, 8).map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))))));

const OPTIONS = {
  separator: ["Columns are separated by", [["", "as found out"], ["comma", "comma"], ["semicolon", "semicolon"], ["tab", "tab"], ["bar", "|"], ["space", "space"]]],
  decimal: ["Decimals are written with", [["", "as found out"], ["point", "point (1.5)"], ["comma", "comma (1,5)"]]],
  encoding: ["Letters are encoded as", [["", "as found out"], ["utf-8", "UTF-8"], ["utf-16", "UTF-16"], ["latin-1", "Latin-1"]]],
};

/** Other ways of reading the file; a change reads it again. */
export function readingOptions(options, again) {
  const pick = (key) => (event) => again({ ...options, [key]: event.target.value });
  return el("details", { id: "reading", open: Object.values(options).some(Boolean) },
    el("summary", {}, "Was it read wrongly?"),
    el("div", { class: "fields" },
      Object.entries(OPTIONS).map(([key, [label, values]]) => el("label", {}, label,
        el("select", { id: `read-${key}`, onchange: pick(key) }, values.map(([value, words]) => el("option", { value, selected: (options[key] ?? "") === value }, words))))),
      el("label", {}, "Cells without a value say", el("input", { id: "read-missing", value: options.missing ?? "", placeholder: "NA, empty, …", onchange: pick("missing") })),
      el("label", {}, "Sheet of the workbook", el("input", { id: "read-sheet", value: options.sheet ?? "", placeholder: "the first", onchange: pick("sheet") }))));
}
