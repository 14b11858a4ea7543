// What is known beforehand, by clicking a matrix: each pair is open, forbidden or required.

import { arrows, el, replace } from "./dom.js";

const NEXT = { open: "forbidden", forbidden: "required", required: "open" };
const WORDS = { open: "open", forbidden: "does not cause directly", required: "causes directly" };
/** More variables than this make a matrix that nobody can survey. */
const MOST = 50;

const SIGNS = { open: "", forbidden: "✕", required: "→" };

/** `known` maps JSON of [cause, effect] to "forbidden" or "required", and is changed by clicks; `ruledOut` tells what need not be said. */
export function knowledgeMatrix(names, known, ruledOut) {
  if (names.length < 2) return el("p", { class: "note" }, "There are no two variables yet.");
  if (names.length > MOST) return knowledgeList(names, known);
  const cells = new Map();
  const state = (key) => known.get(key) ?? "open";
  const show = (key) => {
    const it = cells.get(key);
    const [cause, effect] = JSON.parse(key);
    it.dataset.state = state(key);
    it.textContent = SIGNS[state(key)];
    it.setAttribute("aria-label", `${cause} → ${effect}: ${WORDS[state(key)]}`);
    it.title = `${cause} → ${effect}: ${WORDS[state(key)]}`;
  };
  const set = (key, value) => {
    if (value === "open") known.delete(key);
    else known.set(key, value);
    show(key);
  };
  const line = (keys) => {
    // The whole line is forbidden, or all of it opened again; that everything causes everything is never known.
    const value = keys.every((key) => state(key) === "forbidden") ? "open" : "forbidden";
    keys.forEach((key) => set(key, value));
  };
  const keys = (chosen) => names.flatMap((i) => names.map((j) => [i, j])).filter(([i, j]) => i !== j && chosen(i, j) && !ruledOut(i, j)).map((pair) => JSON.stringify(pair));
  const rows = names.map((cause, i) => el("tr", {},
    el("th", { scope: "row" }, el("button", { type: "button", title: `${cause} causes nothing directly`, "aria-label": `Mark the row: ${cause} causes nothing directly`, onclick: () => line(keys((from) => from === cause)) }, cause)),
    names.map((effect, j) => {
      if (i === j) return el("td", {}, el("div", { class: "self" }));
      if (ruledOut(cause, effect)) {
        const words = `${cause} → ${effect}: ruled out, it comes later`;
        return el("td", {}, el("div", { class: "self", role: "img", "aria-label": words, title: words }, "✕"));
      }
      const key = JSON.stringify([cause, effect]);
      const it = el("button", { type: "button", "data-i": i, "data-j": j, onclick: () => set(key, NEXT[state(key)]) });
      cells.set(key, it);
      show(key);
      return el("td", {}, it);
    })));
  const grid = el("table", { class: "known" },
    el("thead", {}, el("tr", {}, el("th", { class: "note" }, "cause ↓ effect →"),
      names.map((effect) => el("th", { scope: "col" }, el("button", { type: "button", class: "turned", title: `nothing causes ${effect} directly`, "aria-label": `Mark the column: nothing causes ${effect} directly`, onclick: () => line(keys((_, to) => to === effect)) }, effect))))),
    el("tbody", {}, rows));
  arrows(grid);
  return el("div", {},
    el("p", { class: "legend note" }, el("span", {}, el("span", { class: "key forbidden" }, "✕"), "does not cause directly"), el("span", {}, el("span", { class: "key required" }, "→"), "causes directly"), el("span", {}, el("span", { class: "key" }), "open")),
    el("div", { class: "scroll" }, grid));
}

/** The same with a list: two variables, what is known, and what was said so far. */
function knowledgeList(names, known) {
  const pick = (id, label, values) => el("label", {}, label, el("select", { id }, values.map(([value, words]) => el("option", { value }, words))));
  const variables = names.map((name) => [name, name]);
  const fields = [pick("known-cause", "This variable", variables), pick("known-state", "", [["forbidden", WORDS.forbidden], ["required", WORDS.required]]), pick("known-effect", "this one", variables)];
  const [cause, state, effect] = fields.map((field) => field.querySelector("select"));
  state.setAttribute("aria-label", "What is known");
  const list = el("ul");
  const draw = () => replace(list, [...known].map(([key, value]) => {
    const [from, to] = JSON.parse(key);
    return el("li", {}, `${from} ${WORDS[value]} ${to} `, el("button", { type: "button", "aria-label": `Remove: ${from} ${WORDS[value]} ${to}`, onclick: () => { known.delete(key); draw(); } }, "Remove"));
  }));
  draw();
  return el("div", {}, el("div", { class: "fields" }, fields, el("button", { type: "button", onclick: () => {
    if (cause.value !== effect.value) known.set(JSON.stringify([cause.value, effect.value]), state.value);
    draw();
  } }, "Add")), list);
}
