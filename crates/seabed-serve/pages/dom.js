// Elements, words for numbers and times, dialogs and notices. What people wrote only ever becomes text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in PROPERTIES) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const PROPERTIES = { value: 1, checked: 1, disabled: 1, hidden: 1, indeterminate: 1 };

/** An HTML element; `onclick` and the like are listeners, children are elements or texts. */
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A figure with a title that is seen and read aloud. */
export function figure(title, width, height, ...children) {
  return svg("svg", { viewBox: `0 0 ${round(width)} ${round(height)}`, role: "group", "aria-label": title, width: round(width), height: round(height) }, ...children);
}

/** Coordinates need no more than a tenth of a pixel. */
export const round = (x) => Math.round(x * 10) / 10;

/** A number as people write it: four digits that matter. */
export function number(x, digits = 4) {
  if (x === null || x === undefined) return "";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(2).replace("e+", "e");
  return String(Number(x.toPrecision(digits)));
}

/** A probability with two decimals, never rounded to certainty. */
export function probability(p) {
  if (p > 0 && p < 0.005) return "< 0.01";
  if (p < 1 && p > 0.995) return "> 0.99";
  return p.toFixed(2);
}

export const count = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

/** A time of the server (UTC) in the reader's own zone. */
export function time(text) {
  const date = new Date(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : text.replace(" ", "T") + "Z");
  if (Number.isNaN(date.getTime())) return el("span", {}, text);
  const words = date.toLocaleString(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return el("time", { datetime: date.toISOString(), title: text }, words);
}

/** `X2 = 1.5 mM, X3 = 0`, with the units of the variables. */
export function settings(targets, variables) {
  const unit = (name) => variables.find((v) => v.name === name)?.unit || "";
  return Object.entries(targets).map(([name, value]) => `${name} = ${number(value)}${unit(name) ? " " + unit(name) : ""}`).join(", ");
}

/** Says something for a while, aloud too. */
export function notice(text, kind = "") {
  const place = document.getElementById("notice");
  place.textContent = text;
  place.className = `notice shown ${kind}`;
  clearTimeout(notice.timer);
  notice.timer = setTimeout(() => place.classList.remove("shown"), 6000 + 40 * text.length);
}

/** What the server says, without the parts that name options of the command. */
export function said(text) {
  return text.split("\n").map((line) => {
    const parts = line.split("; ").filter((part) => !/(^|\s)--[a-z]|`seabed /.test(part));
    return parts.length ? parts.join("; ") : line;
  }).join("\n");
}

/** With a capital, for what does not begin with somebody's name. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A list of what the server says; nothing if it says nothing. */
export const sayings = (texts, kind) => (texts.length ? el("ul", { class: kind }, texts.map((text) => el("li", {}, said(text)))) : null);

/** An error where it happened. */
export function problem(error) {
  const cells = (error.cells ?? []).slice(0, 20).filter((cell) => !error.message.includes(cell.message)).map((cell) => {
    const where = [cell.row ? `row ${cell.row}` : "", cell.column ? `column ${cell.column}` : ""].filter(Boolean).join(", ");
    return el("li", {}, said(where ? `${where}: ${cell.message}` : cell.message));
  });
  return el("div", { class: "problem", role: "alert" }, el("p", {}, said(error.message)), cells.length ? el("ul", {}, cells) : null);
}

/** A button that is disabled while it works; its errors appear behind it. */
export function button(label, action, attributes = {}) {
  const place = el("div", { class: "after" });
  const it = el("button", { type: "button", ...attributes, onclick: async (event) => {
    // Not `disabled`: that would take the keyboard's focus away.
    if (it.getAttribute("aria-disabled") === "true") return;
    place.replaceChildren();
    it.setAttribute("aria-disabled", "true");
    try {
      await action(event);
    } catch (error) {
      place.replaceChildren(problem(error));
      place.scrollIntoView({ block: "nearest" });
    } finally {
      it.removeAttribute("aria-disabled");
    }
  } }, label);
  it.after_place = place;
  return it;
}

/** Buttons in a row, with the place for their errors. */
export const buttons = (...all) => [
  el("div", { class: "buttons" }, all.filter(Boolean)),
  all.flat().filter((one) => one?.after_place).map((one) => one.after_place),
];

/** A dialog over the page; Esc and the button close it, and the focus goes back to where it was. */
export function dialog(title, ...children) {
  const before = document.activeElement;
  const box = el("dialog", { "aria-labelledby": "dialog-title", onclose: () => {
    box.remove();
    if (before?.isConnected) before.focus();
    else if (before?.id) document.getElementById(before.id)?.focus();
  }, onclick: (event) => { if (event.target === box) box.close(); } },
    el("div", { class: "inside" },
      el("div", { class: "dialog-head" },
        el("h2", { id: "dialog-title" }, title),
        el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => box.close() }, "×")),
      ...children));
  document.body.append(box);
  box.showModal();
  return box;
}

/** A table: heads are texts or elements, rows lists of cells; columns in `numbers` are aligned to the right. */
export function table(caption, heads, rows, numbers = []) {
  const kind = (k) => (numbers.includes(k) ? { class: "number" } : {});
  return el("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head, k) => el("th", { scope: "col", ...kind(k) }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, k) => el("td", kind(k), cell)))))));
}

/** Draws again without losing the focus: whatever has an id gets it back. */
export function replace(place, ...children) {
  const { id, selectionStart } = document.activeElement ?? {};
  const open = new Set([...place.querySelectorAll("details[open][id]")].map((one) => one.id));
  const held = id && place.contains(document.activeElement);
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  open.forEach((one) => document.getElementById(one)?.setAttribute("open", ""));
  if (!held) return;
  const again = document.getElementById(id);
  again?.focus();
  if (typeof selectionStart === "number" && again?.setSelectionRange) again.setSelectionRange(selectionStart, selectionStart);
}

/** One stop for the Tab key in a grid of buttons; the arrow keys go from one to the next. Cells have data-i and data-j. */
export function arrows(grid) {
  const cells = () => [...grid.querySelectorAll("[data-i]")];
  const first = cells()[0];
  cells().forEach((cell) => cell.setAttribute("tabindex", cell === first ? "0" : "-1"));
  grid.addEventListener("focusin", ({ target }) => {
    if (!target.dataset?.i) return;
    cells().forEach((cell) => cell.setAttribute("tabindex", cell === target ? "0" : "-1"));
  });
  grid.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step || !event.target.dataset?.i) return;
    event.preventDefault();
    let [i, j] = [Number(event.target.dataset.i), Number(event.target.dataset.j)];
    // Over the diagonal, where nothing is, to the next cell.
    for (let tries = 0; tries < 2; tries += 1) {
      [i, j] = [i + step[0], j + step[1]];
      const next = grid.querySelector(`[data-i="${i}"][data-j="${j}"]`);
      if (next) return next.focus();
    }
  });
}

/** A place to drop a file or choose one. */
export function filePlace(id, label, onfile) {
  const input = el("input", { type: "file", id, accept: ".csv,.tsv,.txt,.xlsx,.parquet,.gz,text/csv", onchange: () => {
    const file = input.files[0];
    input.value = "";
    if (file) onfile(file);
  } });
  const place = el("div", { class: "drop" }, el("label", { for: id }, label), input);
  const mark = (on) => (event) => { event.preventDefault(); place.classList.toggle("over", on); };
  place.addEventListener("dragover", mark(true));
  place.addEventListener("dragleave", mark(false));
  place.addEventListener("drop", (event) => {
    mark(false)(event);
    const file = event.dataTransfer.files[0];
    if (file) onfile(file);
  });
  return place;
}
