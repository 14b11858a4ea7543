// Results: a grid to type or paste them into, a place for filled-in forms, and what was recorded, to be corrected.

import { post, upload } from "./api.js";
import { button, buttons, count, dialog, el, filePlace, notice, number, problem, replace, said, sayings, settings, table } from "./dom.js";
import { block, decimals, place as placeBlock } from "./paste.js";

export async function resultsSection(context) {
  const [{ proposals }, { experiments }] = await Promise.all([context.get("proposals"), context.get("experiments")]);
  proposals.sort((a, b) => b.proposal - a.proposal);
  const wanted = proposals.find((one) => one.proposal === context.proposal) ?? proposals.findLast((one) => one.pending) ?? proposals[0];
  const shown = wanted ? await context.get(`proposals/${wanted.proposal}`) : null;
  const formPlace = el("div");
  return [
    context.campaign.read_only ? null : [
      states(),
      shown ? proposalGrid(context, shown, proposals) : el("p", {}, "Nothing was proposed yet; what you did on your own can be entered below."),
      el("h3", {}, "A filled-in form"),
      filePlace("form-file", "Drop the filled-in form here (CSV or Excel), or choose it:", (file) => dropForm(context, file, formPlace)),
      formPlace,
      ownGrid(context)],
    recorded(context, experiments),
  ];
}

/** What was recorded, in a sentence. */
function told(answer) {
  const parts = [answer.done ? `${answer.done} done` : "", answer.failed ? `${answer.failed} failed` : "", answer.changed ? `${answer.changed} changed` : "", answer.known ? `${answer.known} known already` : "", answer.blank ? `${answer.blank} still empty` : ""].filter(Boolean);
  return `${answer.action === null ? "Nothing new" : "Recorded"}${parts.length ? `: ${parts.join(", ")}` : ""}.`;
}

function after(context, answer, place) {
  notice(told(answer));
  const more = [...(answer.warnings ?? []), ...(answer.notes ?? [])];
  context.lastRecorded = sayings(more, "caution");
  place?.replaceChildren();
  return context.redraw();
}

async function dropForm(context, file, place, options = {}) {
  document.getElementById("last-recorded")?.remove();
  context.lastRecorded = null;
  replace(place, el("p", { class: "note", role: "status" }, `Reading ${file.name} …`));
  try {
    await after(context, await upload(`${context.path}/forms`, file, options), place);
  } catch (error) {
    const offer = (label, more) => buttons(button(label, () => dropForm(context, file, place, { ...options, ...more })));
    replace(place, el("p", {}, el("strong", {}, file.name), " was not recorded:"), problem(error),
      contradicts(error) && !options.amend ? offer("These rows correct what was recorded", { amend: true }) : null,
      error.kind === "added-before" || error.kind === "known-rows" ? offer("Record them again", { again: true }) : null,
      el("p", { class: "note" }, "Nothing of it was recorded. Correct the form and drop it again."));
  }
}

/** Does the form say something else than what was recorded? The server has no kind of its own for it. */
const contradicts = (error) => [error.message, ...(error.cells ?? []).map((cell) => cell.message)].some((text) => /already recorded/.test(text));

/** A grid of rows `{key, row, recorded}`; `drafts` keeps what was typed while the page is drawn again. */
function grid(context, id, rows, { own = false, record }) {
  const { campaign, drafts } = context;
  const variables = campaign.variables;
  const columns = [...(own ? ["intervention_targets"] : []), ...variables.map((v) => v.name), "status"];
  const problems = context.problems?.[id] ?? new Map();
  const message = el("p", { class: "note", role: "status" });
  const draft = (key, column) => drafts.get(`${id}|${key}|${column}`);
  const note = (text) => { message.textContent = text; };
  const type = (key, column, text) => {
    drafts.set(`${id}|${key}|${column}`, text);
    problems.delete(`${key}|${column}`);
  };
  const cellId = (key, column) => `${id}-${key}-${columns.indexOf(column)}`;
  const cell = (row, column) => {
    const target = row.targets?.includes(column);
    const given = row.values?.[column];
    const wrong = problems.get(`${row.key}|${column}`);
    const it = el("input", {
      id: cellId(row.key, column), value: draft(row.key, column) ?? (given === null || given === undefined ? "" : number(given, 10)),
      "aria-label": `${row.label}, ${column === "intervention_targets" ? "variables that were set" : column}`, "aria-invalid": wrong ? "true" : null, "aria-describedby": wrong ? `${cellId(row.key, column)}-problem` : null,
      placeholder: column === "status" ? "done" : column === "intervention_targets" ? "X1, X2" : "", class: column === "intervention_targets" ? "targets" : "", autocomplete: "off",
      inputmode: column === "status" || own ? "text" : "decimal", list: column === "status" ? "states" : null,
      oninput: () => { type(row.key, column, it.value); tell(); },
      onpaste: (event) => {
        const pasted = block(event.clipboardData.getData("text"));
        if (!pasted) return;
        event.preventDefault();
        const done = placeBlock(pasted, rows, columns, row, column, (key, name, text) => type(key, name, text));
        context.redrawGrid = cellId(row.key, column);
        redraw();
        note(done);
      },
      onkeydown: (event) => {
        const step = { ArrowDown: 1, Enter: 1, ArrowUp: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const at = rows.findIndex((other) => other.key === row.key);
        for (let k = at + step; rows[k]; k += step) {
          const next = document.getElementById(cellId(rows[k].key, column));
          if (next) return next.focus();
        }
      },
    });
    return el("td", { class: target ? "given" : "" }, it, wrong ? el("span", { class: "cell-problem", id: `${cellId(row.key, column)}-problem` }, wrong) : null);
  };
  const line = (row) => row.recorded
    ? el("tr", { class: "recorded" }, el("th", { scope: "row" }, row.label), columns.map((column) => el("td", {}, column === "status" ? row.status : number(row.values[column]))))
    : el("tr", {}, el("th", { scope: "row" }, row.label, problems.get(`${row.key}|`) ? el("span", { class: "cell-problem" }, problems.get(`${row.key}|`)) : null), columns.map((column) => cell(row, column)));
  const heads = columns.map((column) => {
    const unit = variables.find((v) => v.name === column)?.unit;
    return el("th", { scope: "col" }, column === "intervention_targets" ? "set" : column, unit ? el("span", { class: "note" }, ` (${unit})`) : null);
  });
  const place = el("div", { class: "scroll", role: "region", "aria-label": own ? "Own experiments" : "Results of the proposal", tabindex: "0" });
  const redraw = () => replace(place, el("table", { class: "sheet", id }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "experiment"), heads)), el("tbody", {}, rows.map(line))));
  const typedRows = () => rows.filter((row) => !row.recorded && columns.some((column) => draft(row.key, column)?.trim()));
  const texts = () => typedRows().flatMap((row) => columns.slice(own ? 1 : 0, -1).map((column) => draft(row.key, column) ?? ""));
  const tell = () => note(decimals(texts()) === "comma" ? "Commas are read as decimal commas: 1,5 is one and a half." : "");
  redraw();
  tell();
  const save = button("Record these results", async () => {
    const sent = typedRows();
    if (!sent.length) throw new Error("Nothing was typed yet.");
    const body = { decimal: decimals(texts()), rows: sent.map((row) => {
      const values = {};
      for (const { name } of variables) {
        const text = draft(row.key, name);
        if (text !== undefined) values[name] = text.trim() === "" ? null : text.trim();
        else if (row.targets?.includes(name)) values[name] = row.values[name];
      }
      const made = { values, status: (draft(row.key, "status") ?? "").trim().toLowerCase() };
      if (own) made.targets = (draft(row.key, "intervention_targets") ?? "").split(/[,;]+/).map((name) => name.trim()).filter(Boolean);
      else Object.assign(made, { experiment: row.experiment, replicate: row.replicate });
      return made;
    }) };
    problems.clear();
    try {
      const answer = await record(body);
      for (const row of sent) for (const column of columns) drafts.delete(`${id}|${row.key}|${column}`);
      await after(context, answer);
    } catch (error) {
      for (const one of error.cells ?? []) {
        const row = sent[(one.row ?? 0) - 1];
        if (row) problems.set(`${row.key}|${columns.includes(one.column) ? one.column : ""}`, said(one.message));
      }
      (context.problems ??= {})[id] = problems;
      redraw();
      place.querySelector("[aria-invalid]")?.focus();
      // What stands beside its cell is not said twice.
      throw problems.size ? new Error(`Nothing was recorded: ${count(problems.size, "cell")} cannot be read. See what is written beside ${problems.size === 1 ? "it" : "them"}.`) : error;
    }
  }, { class: "primary", id: `${id}-save` });
  return [place, message, buttons(save)];
}

const states = () => el("datalist", { id: "states" }, ["done", "failed", "pending"].map((value) => el("option", { value })));

function proposalGrid(context, shown, proposals) {
  const rows = shown.rows.map((row) => ({ ...row, key: `${row.experiment}-${row.replicate}`, label: `${row.experiment} / ${row.replicate}`, recorded: Boolean(row.status) }));
  const waiting = rows.filter((row) => !row.recorded).length;
  const other = el("select", { id: "which-results", onchange: (event) => { context.proposal = Number(event.target.value); context.redraw(); } },
    proposals.map((one) => el("option", { value: one.proposal, selected: one.proposal === shown.proposal }, `Proposal ${one.proposal}: ${one.pending ? `${one.pending} awaited` : "all in"}`)));
  return [
    context.lastRecorded ? el("div", { id: "last-recorded" }, context.lastRecorded) : null,
    el("h3", {}, `Results of proposal ${shown.proposal}`),
    proposals.length > 1 ? el("p", {}, el("label", {}, "Show ", other)) : null,
    waiting ? el("p", {}, "Type what was measured, or paste cells from a spreadsheet into the first cell they belong to. Leave empty what is not there yet. What was to be set is filled in (tinted): if you set another value, write that one. If an experiment did not work, write “failed” into its status.") : el("p", {}, "All results of this proposal are in."),
    grid(context, `p${shown.proposal}`, rows, { record: (body) => post(`${context.path}/results`, body) }).slice(0, waiting ? undefined : 1),
  ];
}

function ownGrid(context) {
  context.ownRows ??= 1;
  const rows = Array.from({ length: context.ownRows }, (_, k) => ({ key: String(k + 1), label: `new ${k + 1}`, targets: [], values: {} }));
  return el("details", { id: "own-part" }, el("summary", {}, "An experiment that was not proposed"),
    el("p", {}, "Give the variables that were set (none for a plain measurement), separated by commas, and all values."),
    grid(context, "own", rows, { own: true, record: (body) => post(`${context.path}/results`, body) }),
    buttons(el("button", { type: "button", id: "own-more", onclick: () => { context.ownRows += 1; context.redraw(); } }, "One more row")));
}

function recorded(context, experiments) {
  const names = context.campaign.variables.map((v) => v.name);
  const rows = experiments.flatMap((one) => one.records.filter((record) => record.in_force && record.status !== "pending").map((record) => ({ one, record })));
  if (!rows.length) return null;
  return el("div", {}, el("h3", {}, "What was recorded"),
    table("What was recorded", ["Experiment", "Set", ...names, "Status", "Change"], rows.map(({ one, record }) => [
      `${one.experiment} / ${record.replicate}`, settings(one.settings, context.campaign.variables), ...names.map((name) => number(record.values[name])), record.status,
      context.campaign.read_only ? "" : el("button", { type: "button", id: `correct-${one.experiment}-${record.replicate}`, "aria-label": `Correct ${one.experiment}, replicate ${record.replicate}`, onclick: () => correct(context, one, record) }, "Correct")]), names.map((_, k) => k + 2)),
    el("p", { class: "note" }, "A correction keeps the old values in the history."));
}

function correct(context, one, record) {
  const fields = context.campaign.variables.map((v) => [v.name, el("input", { value: record.values[v.name] === null || record.values[v.name] === undefined ? "" : number(record.values[v.name], 12), inputmode: "decimal", id: `fix-${v.name}` })]);
  const status = el("select", { id: "fix-status" }, ["done", "failed", "pending"].map((value) => el("option", { value, selected: value === record.status }, value)));
  const note = el("input", { id: "fix-note" });
  const box = dialog(`Correct ${one.experiment}, replicate ${record.replicate}`,
    el("div", { class: "fields" }, fields.map(([name, input]) => el("label", {}, name, input)), el("label", {}, "Status", status), el("label", { class: "wide" }, "Why? (for the history)", note)),
    buttons(button("Correct", async () => {
      const values = {};
      for (const [name, input] of fields) {
        const text = input.value.trim().replace(",", ".");
        const value = text === "" ? null : Number(text);
        if (value !== null && !Number.isFinite(value)) throw new Error(`${name}: “${input.value}” is not a number.`);
        const old = record.values[name] ?? null;
        if (input.value !== input.defaultValue && value !== old && text !== (old === null ? "" : number(old, 12))) values[name] = value;
      }
      const body = { experiment: one.experiment, replicate: record.replicate, note: note.value };
      if (Object.keys(values).length) body.values = values;
      if (status.value !== record.status) body.status = status.value;
      if (!body.values && !body.status) throw new Error("Nothing was changed.");
      const answer = await post(`${context.path}/amend`, body);
      box.close();
      await after(context, answer);
    }, { class: "primary", id: "fix-save" })));
}
