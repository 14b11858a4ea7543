// Measurements: add a file, look at what is there.

import { get, upload } from "./api.js";
import { button, buttons, count, el, filePlace, notice, number, problem, replace, sayings, table } from "./dom.js";
import { previewTable, readingOptions } from "./preview.js";

const PAGE = 100;

export async function dataSection(context) {
  const offset = context.offset ?? 0;
  const data = await get(`${context.path}/data?offset=${offset}&limit=${PAGE}`);
  const place = context.addPlace ??= el("div");
  const turn = (to) => () => { context.offset = to; return context.redraw(); };
  return [
    context.campaign.read_only ? null : [
      el("p", {}, "Measurements that belong to no proposed experiment are added here. A column “intervention_targets” says which variables were set."),
      filePlace("data-file", "Drop a file here (CSV, Excel, Parquet), or choose one:", (file) => look(context, file, place)),
      place],
    variables(context.campaign),
    el("h3", {}, "Measurements"),
    data.all ? [
      el("p", {}, `Rows ${offset + 1} to ${offset + data.rows.length} of ${data.all}.`),
      table("Measurements", [...data.names, "Set", "From"], data.rows.map((row) => [...row.values.map((value) => (value === null ? "–" : number(value))), row.targets.join(", "), row.source]), data.names.map((_, k) => k)),
      buttons(offset ? button("Rows before", turn(Math.max(0, offset - PAGE)), { id: "rows-before" }) : null, offset + data.rows.length < data.all ? button("Rows after", turn(offset + PAGE), { id: "rows-after" }) : null),
    ] : el("p", {}, "There are none yet."),
  ];
}

function variables(campaign) {
  const { forbidden = [], required = [], tiers = [] } = campaign.knowledge;
  const pairs = (words, all) => (all.length ? el("li", {}, `${words}: ${all.map(([a, b]) => `${a} → ${b}`).join(", ")}`) : null);
  return el("details", { id: "variables" }, el("summary", {}, "The variables, and what is known beforehand"),
    table("Variables", ["Variable", "Unit", "Scale", "Can be set to", "Cost"], campaign.variables.map((v) => [v.name, v.unit ?? "", v.transform && v.transform !== "none" ? v.transform : "",
      v.intervene ? (v.levels ? v.levels.map((x) => number(x)).join(", ") : v.bounds ? v.bounds.map((x) => number(x)).join(" to ") : "anything") : "–", number(v.cost ?? 1)]), [4]),
    el("ul", {}, pairs("Does not cause directly", forbidden), pairs("Causes directly", required), tiers.length ? el("li", {}, `Order in time: ${tiers.map((tier) => tier.join(", ")).join(" before ")}`) : null));
}

async function look(context, file, place, options = {}) {
  replace(place, el("p", { class: "note", role: "status" }, `Reading ${file.name} …`));
  try {
    const preview = await upload("preview", file, { ...options, ignore: context.campaign.ignore });
    if (preview.is_form) {
      return replace(place, el("p", { class: "caution" }, `${file.name} is a form of seabed. `, el("a", { href: context.address("results") }, "Drop it under Results.")));
    }
    const note = el("input", { id: "add-note", placeholder: "for example: second plate" });
    replace(place,
      el("h3", {}, `Add ${preview.file}?`),
      el("p", {}, `${preview.rows} rows, ${preview.columns.length} columns.`),
      sayings(preview.notes, "note"),
      sayings(preview.warnings, "caution"),
      previewTable(preview),
      readingOptions(options, (other) => look(context, file, place, other)),
      el("label", { class: "stack" }, "Note for the history", note),
      buttons(button("Add these measurements", () => add(context, file, place, { ...options, note: note.value }), { class: "primary", id: "add-data" }),
        el("button", { type: "button", onclick: () => replace(place) }, "Do not add")));
  } catch (error) {
    replace(place, problem(error), readingOptions(options, (other) => look(context, file, place, other)));
  }
}

async function add(context, file, place, options) {
  try {
    const added = await upload(`${context.path}/data`, file, options);
    notice(added.action === null ? "Nothing new: all rows are known." : `Added ${count(added.rows ?? 0, "measurement")}${added.known ? `; ${added.known} were known already` : ""}.`);
    const more = [...(added.warnings ?? []), ...(added.notes ?? [])];
    replace(place, sayings(more, "caution"));
    await context.redraw();
  } catch (error) {
    if (error.kind !== "known-rows" && error.kind !== "added-before") throw error;
    replace(place, problem(error), buttons(
      button("Add only the new rows", () => add(context, file, place, { ...options, new: true }), { class: "primary" }),
      button("Add all rows again", () => add(context, file, place, { ...options, again: true })),
      el("button", { type: "button", onclick: () => replace(place) }, "Do not add")));
  }
}
