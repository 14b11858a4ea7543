// A new campaign: from a table to its variables, what can be set, and what is known beforehand.

import { campaignPath, post, upload } from "./api.js";
import { button, buttons, el, filePlace, notice, number, problem, replace, sayings } from "./dom.js";
import { knowledgeMatrix } from "./knowledge.js";
import { orderFields, ruledOut, tiers } from "./order.js";
import { previewTable, readingOptions } from "./preview.js";

const KINDS = {
  targets: "says which variables were set in each row; read as such",
  text: "not numbers",
  counter: "looks like a row number",
  empty: "empty",
  form: "a column of forms",
};

export function createPage(server) {
  const state = { file: null, options: {}, preview: null, choices: [], knowledge: new Map(), steps: new Map(), name: server.new_id ?? "" };
  const place = el("div");
  const look = async (file, options = {}) => {
    replace(place, el("p", { class: "note", role: "status" }, `Reading ${file.name} …`));
    try {
      state.preview = await upload("preview", file, options);
      Object.assign(state, { file, options, knowledge: new Map(), steps: new Map(), choices: state.preview.columns.map(choice) });
      if (!state.name) state.name = file.name.replace(/(\.(csv|tsv|txt|xlsx|parquet|gz))+$/i, "");
      replace(place, form(server, state, look));
      place.querySelector("h2")?.focus();
    } catch (error) {
      replace(place, problem(error), state.preview ? form(server, state, look) : null);
    }
  };
  const element = el("div", {},
    el("h1", { tabindex: "-1" }, "Begin a campaign"),
    el("p", {}, "Start from a table of measurements: one column for each variable, one row for each sample, names in the first row. Files from Excel and other spreadsheets are fine, also with semicolons and decimal commas."),
    filePlace("new-file", "Drop a file here (CSV, Excel, Parquet), or choose one:", (file) => look(file)),
    place);
  return { title: "Begin a campaign", element };
}

function choice(column) {
  const draft = column.draft ?? {};
  return {
    column, used: column.kind === "variable" && column.values !== "constant", intervene: Boolean(draft.intervene),
    unit: draft.unit ?? "", transform: draft.transform ?? "none", cost: String(draft.cost ?? 1),
    by: draft.levels ? "levels" : "bounds",
    low: number((draft.bounds ?? [column.low])[0], 12), high: number((draft.bounds ?? [0, column.high])[1], 12),
    levels: (draft.levels ?? column.levels ?? []).map((x) => number(x, 12)).join("; "),
  };
}

function form(server, state, look) {
  const { preview } = state;
  const [matrixPlace, orderPlace] = [el("div"), el("div")];
  let shownNames = null;
  const drawMatrix = () => {
    const names = state.choices.filter((one) => one.used).map((one) => one.column.name);
    const impossible = (pair) => !pair.every((name) => names.includes(name)) || ruledOut(state.steps, ...pair);
    for (const key of state.knowledge.keys()) if (impossible(JSON.parse(key))) state.knowledge.delete(key);
    for (const name of state.steps.keys()) if (!names.includes(name)) state.steps.delete(name);
    replace(matrixPlace, knowledgeMatrix(names, state.knowledge, (cause, effect) => ruledOut(state.steps, cause, effect)));
    if (names.join("\n") === shownNames) return;
    shownNames = names.join("\n");
    replace(orderPlace, names.length > 1 ? orderFields(names, state.steps, drawMatrix) : null);
  };
  drawMatrix();
  const rows = state.choices.map((one, k) => columnRow(one, k, drawMatrix));
  const name = el("input", { id: "campaign-name", value: state.name, required: true, maxlength: 80, disabled: Boolean(server.new_id), oninput: () => { state.name = name.value; } });
  const create = button("Create the campaign", () => createCampaign(server, state), { class: "primary", id: "create" });
  return [
    el("h2", { tabindex: "-1" }, "1. What is in the file"),
    el("p", {}, `${preview.file}: ${preview.rows} rows, ${preview.columns.length} columns.`),
    sayings(preview.notes, "note"),
    sayings(preview.warnings, "caution"),
    previewTable(preview),
    readingOptions(state.options, (options) => look(state.file, options)),
    el("h2", {}, "2. The variables"),
    el("p", {}, "Take what was measured as a variable; leave out sample numbers and remarks. Mark what your laboratory can set – a dose, a knock-down, a temperature – and within which bounds, or to which levels only. seabed proposes experiments on these only."),
    el("table", { class: "columns" },
      el("thead", {}, el("tr", {}, ["Column", "Is a variable", "Can be set", "Unit", "Scale", "Can be set to", "Cost of an experiment"].map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows)),
    el("h2", {}, "3. What is known beforehand"),
    el("p", {}, "Nothing needs to be known. If something is, click: once for “does not cause directly”, twice for “causes directly”, three times to open the question again. A name at the edge marks its whole row or column."),
    matrixPlace,
    orderPlace,
    el("h2", {}, "4. The name"),
    el("label", { class: "stack" }, "What do you call the campaign?", name),
    el("p", { class: "note" }, "The measurements of the file are added to it. The variables and what is known beforehand stay as they are from then on: everything that is learned depends on them."),
    buttons(create),
  ];
}

function columnRow(one, k, redraw) {
  const { column } = one;
  const label = (what) => `${column.name}: ${what}`;
  const text = (key, what, attributes = {}) => el("input", { value: one[key], "aria-label": label(what), id: `${key}-${k}`, oninput: (event) => { one[key] = event.target.value; }, ...attributes });
  const head = el("th", { scope: "row" }, column.name,
    el("div", { class: "note" }, [KINDS[column.kind], column.draft ? describe(column) : "", column.problem].filter(Boolean).join("; ")));
  // What looks like a row number may be a variable nevertheless.
  if (!column.draft) {
    return el("tr", {}, head, el("td", { class: "span note" }, column.kind === "targets" ? "–" : "left out"), el("td"), el("td"), el("td"), el("td"), el("td"));
  }
  const range = el("td", { "data-label": "Can be set to", class: "span" });
  const row = el("tr", {});
  const choose = (value, words) => el("option", { value, selected: one.by === value }, words);
  const drawRange = () => {
    row.classList.toggle("off", !one.used);
    row.classList.toggle("fixed", !one.intervene);
    if (!one.used || !one.intervene) return range.replaceChildren();
    replace(range, el("div", { class: "range" },
      el("select", { id: `by-${k}`, "aria-label": label("how it can be set"), onchange: (event) => { one.by = event.target.value; drawRange(); } }, choose("bounds", "from – to"), choose("levels", "only to")),
      one.by === "bounds"
        ? [text("low", "lowest value it can be set to", { class: "small", inputmode: "decimal" }), "–", text("high", "highest value it can be set to", { class: "small", inputmode: "decimal" })]
        : text("levels", "levels, separated by semicolons", { class: "levels", placeholder: "0; 1,5; 3" })));
  };
  const check = (key, what, then) => el("input", { type: "checkbox", id: `${key}-${k}`, checked: one[key], "aria-label": label(what), onchange: (event) => { one[key] = event.target.checked; drawRange(); then?.(); } });
  const scale = el("select", { id: `transform-${k}`, "aria-label": label("scale"), onchange: (event) => { one.transform = event.target.value; } },
    [["none", "as it is"], ["log", "logarithm"], ["log1p", "log(1 + x)"]].map(([value, words]) => el("option", { value, selected: one.transform === value }, words)));
  drawRange();
  row.append(head,
    el("td", { "data-label": "Is a variable" }, check("used", "is a variable", redraw)),
    el("td", { "data-label": "Can be set" }, check("intervene", "can be set")),
    el("td", { "data-label": "Unit" }, text("unit", "unit", { class: "unit" })),
    el("td", { "data-label": "Scale" }, scale),
    range,
    el("td", { "data-label": "Cost of an experiment", class: "span" }, text("cost", "cost of an experiment", { class: "small", inputmode: "decimal" })));
  return row;
}

function describe(column) {
  const parts = [{ constant: "always the same value", "two-values": "two values", "whole-numbers": "whole numbers", numbers: "numbers" }[column.values] ?? "numbers"];
  if (column.low !== undefined && column.low !== null) parts.push(`${number(column.low)} to ${number(column.high)}`);
  if (column.missing) parts.push(`${column.missing} missing`);
  return parts.join(", ");
}

/** A number as typed in either way of writing decimals. */
function typed(text, what) {
  const value = Number(String(text).trim().replace(",", "."));
  if (String(text).trim() === "" || !Number.isFinite(value)) throw new Error(`${what}: “${text}” is not a number.`);
  return value;
}

function variable(one) {
  const { name } = one.column;
  const made = { name, unit: one.unit.trim(), transform: one.transform, intervene: one.intervene, cost: typed(one.cost, `Cost of ${name}`) };
  if (!one.intervene) return made;
  if (one.by === "bounds") made.bounds = [typed(one.low, `Lowest value of ${name}`), typed(one.high, `Highest value of ${name}`)];
  else made.levels = one.levels.split(/[;\s]+/).filter(Boolean).map((text) => typed(text, `Levels of ${name}`));
  if (made.levels?.length === 0) throw new Error(`${name}: give the levels that it can be set to, or bounds.`);
  return made;
}

async function createCampaign(server, state) {
  const used = state.choices.filter((one) => one.used);
  const ignore = state.choices.filter((one) => !one.used && one.column.kind !== "targets").map((one) => one.column.name);
  const pairs = (wanted) => [...state.knowledge].filter(([, value]) => value === wanted).map(([key]) => JSON.parse(key));
  if (!state.name.trim()) throw new Error("Give the campaign a name.");
  if (used.length < 2) throw new Error("A campaign needs at least two variables.");
  // A first try may have created the campaign and failed to add the data.
  state.created ??= (await post("campaigns", {
    name: state.name.trim(), variables: used.map(variable), ignore,
    knowledge: { forbidden: pairs("forbidden"), required: pairs("required"), tiers: tiers(used.map((one) => one.column.name), state.steps) },
  })).id;
  const id = state.created;
  try {
    const added = await upload(`${campaignPath(id)}/data`, state.file, state.options);
    notice(`The campaign is there, with ${added.rows ?? state.preview.rows} measurements. Next: learn from them.`);
    location.hash = `#/c/${encodeURIComponent(id)}/belief`;
  } catch (error) {
    notice("The campaign is there, but the measurements could not be added.");
    location.hash = `#/c/${encodeURIComponent(id)}/data`;
    throw error;
  }
}
