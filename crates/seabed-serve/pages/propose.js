// What to do next: ask for experiments, see why these, take the form to the bench.

import { post } from "./api.js";
import { button, buttons, count, dialog, el, notice, number, probability, sayings, sentence, settings, table, time } from "./dom.js";
import { lines } from "./figures.js";

export async function proposeSection(context) {
  const { proposals } = await context.get("proposals");
  proposals.sort((a, b) => b.proposal - a.proposal);
  context.asks ??= { batch: "4", replicates: "2", budget: "", max_targets: "1", max_repeats: "", experiment_cost: "", strategy: "", posterior: "", note: "" };
  const wanted = proposals.some((one) => one.proposal === context.proposal) ? context.proposal : proposals[0]?.proposal;
  const shown = wanted ? await context.get(`proposals/${wanted}`) : null;
  return [
    context.campaign.read_only ? null : request(context, Boolean(shown)),
    shown ? proposal(context, shown, proposals) : el("p", {}, "Nothing was proposed yet."),
  ];
}

function request(context, folded) {
  const { asks, server, campaign } = context;
  const names = campaign.variables.map((v) => v.name);
  const settable = campaign.variables.filter((v) => v.intervene);
  if (!settable.length) return el("p", { class: "caution" }, "No variable of this campaign can be set, so no experiment can be proposed.");
  const text = (key, label, attributes = {}) => el("label", {}, label, el("input", { id: `ask-${key}`, value: asks[key], oninput: (event) => { asks[key] = event.target.value; }, ...attributes }));
  const whole = { type: "number", min: 1, max: 1000, step: 1 };
  const question = context.question ??= { kind: "", a: names[0], b: names[1] };
  const choices = (key, all, value) => el("select", { id: `ask-${key}`, onchange: (event) => { (key in asks ? asks : question)[key] = event.target.value; if (key === "kind") drawQuestion(); } }, all.map(([name, words]) => el("option", { value: name, selected: name === value }, words)));
  const questionPlace = el("div", { class: "fields" });
  const variables = names.map((name) => [name, name]);
  const drawQuestion = () => {
    const two = question.kind === "edge" || question.kind === "effect";
    questionPlace.replaceChildren(
      el("label", {}, "What do you want to know?", choices("kind", [["", "the whole model"], ["edge", "does A cause B directly?"], ["parents", "what causes A directly?"], ["descendants", "what does A act on?"], ["effect", "how much does A change B?"]], question.kind)),
      question.kind ? el("label", {}, "A", choices("a", variables, question.a)) : "",
      two ? el("label", {}, "B", choices("b", variables, question.b)) : "");
  };
  drawQuestion();
  const go = button("Propose experiments", () => context.start("proposals", body(asks, question)), { class: "primary", id: "propose" });
  return el("details", { open: !folded || Boolean(question.kind), id: "ask" },
    el("summary", {}, "Ask for experiments"),
    el("p", {}, "seabed learns from all measurements, then chooses the experiments that are expected to teach the most. What is awaited is taken into account. The first time may take minutes."),
    el("div", { class: "fields" }, text("batch", "How many experiments?", whole), text("replicates", "Replicates of each", { inputmode: "numeric", placeholder: "auto" }), text("budget", "Budget (cost at most)", { inputmode: "decimal", placeholder: "no limit" })),
    questionPlace,
    el("details", { id: "ask-more" }, el("summary", {}, "More"),
      el("div", { class: "fields" },
        text("max_targets", "Variables set at once, at most", whole), text("max_repeats", "Experiments on the same variable, at most", { ...whole, placeholder: "no limit" }),
        text("experiment_cost", "Cost of setting up an experiment", { inputmode: "decimal", placeholder: "0" }),
        el("label", {}, "How beliefs are formed", choices("posterior", [["", "as usual"], ...server.posteriors.map((one) => [one.name, `${one.name}: ${one.what}`])], asks.posterior)),
        el("label", {}, "Strategy", choices("strategy", [["", "the recommended one"], ...server.strategies.map((one) => [one, one])], asks.strategy)),
        text("note", "Note for the history"))),
    buttons(go));
}

function body(asks, question) {
  const numeric = (key) => {
    const text = String(asks[key]).trim().replace(",", ".");
    if (!text) return undefined;
    if (!Number.isFinite(Number(text))) throw new Error(`“${asks[key]}” is not a number.`);
    return Number(text);
  };
  const two = question.kind === "edge" || question.kind === "effect";
  if (two && question.a === question.b) throw new Error("A and B are the same variable.");
  const replicates = asks.replicates.trim().toLowerCase();
  return {
    batch: numeric("batch"), replicates: replicates === "auto" || !replicates ? "auto" : numeric("replicates"), budget: numeric("budget"),
    max_targets: numeric("max_targets"), max_repeats: numeric("max_repeats"), experiment_cost: numeric("experiment_cost"),
    goal: question.kind ? `${question.kind}=${question.a}${two ? `,${question.b}` : ""}` : "",
    strategy: asks.strategy || undefined, posterior: asks.posterior || undefined, note: asks.note,
  };
}

function proposal(context, shown, proposals) {
  const { path, campaign } = context;
  const form = (format) => `/api/v1/${path}/proposals/${shown.proposal}/form?format=${format}`;
  const pending = shown.rows.filter((row) => !row.status).length;
  const other = el("select", { id: "which-proposal", onchange: (event) => { context.proposal = Number(event.target.value); context.redraw(); } },
    proposals.map((one) => el("option", { value: one.proposal, selected: one.proposal === shown.proposal }, `Proposal ${one.proposal}: ${count(one.experiments, "experiment")}, ${one.pending ? `${one.pending} awaited` : "all in"}`)));
  return el("div", {},
    el("h3", {}, `Proposal ${shown.proposal}`),
    proposals.length > 1 ? el("p", {}, el("label", {}, "Show ", other)) : null,
    el("p", { class: "note" }, time(shown.at), shown.who ? ` by ${shown.who}` : "", shown.goal ? `; question: ${shown.goal}` : "", shown.note ? `; ${shown.note}` : ""),
    sayings(shown.warnings, "caution"),
    shown.sentences.map((text) => el("p", {}, sentence(text))),
    buttons(
      el("a", { class: "primary", href: form("xlsx"), download: "" }, "Form for Excel"),
      el("a", { class: "button", href: form("csv"), download: "" }, "Form as CSV"),
      el("button", { type: "button", onclick: () => print(shown, campaign, context.id) }, "Print the form"),
      pending ? el("a", { class: "button", href: context.address("results"), onclick: () => { context.proposal = shown.proposal; } }, "Enter results") : null,
      pending && !campaign.read_only ? button("Give up what is awaited …", () => giveUp(context, shown, pending)) : null),
    el("ol", { class: "cards" }, shown.batch.map((one) => experiment(one, shown, campaign))),
    curves(shown, campaign));
}

function experiment(one, shown, campaign) {
  const rows = shown.rows.filter((row) => row.experiment === one.experiment);
  const done = rows.filter((row) => row.status === "done").length;
  const failed = rows.filter((row) => row.status === "failed").length;
  const state = done + failed ? `${done} done${failed ? `, ${failed} failed` : ""}, ${rows.length - done - failed} awaited` : "";
  return el("li", { class: "card" },
    el("h4", {}, one.experiment), el("div", { class: "set" }, `Set ${settings(one.targets, campaign.variables)}`),
    el("p", {}, one.why ? `${sentence(one.why)}.` : "No single pair stands out: it tells a little about many."),
    el("p", { class: "note" }, `${count(one.rows, "replicate")}; expected gain ${number(one.gain, 3)}, alone ${number(one.information, 3)} ± ${number(one.standard_error, 2)} (${shown.unit}); cost ${number(one.cost)}`),
    state ? el("p", { class: "good" }, state) : null,
    one.decides.length ? el("details", {}, el("summary", {}, "What it would decide"),
      table(`What ${one.experiment} would decide`, ["Pair", "Wrong now", "Wrong after", "Decided"], one.decides.map((d) => [`${d.from} – ${d.to}`, probability(d.wrong_now), probability(d.wrong_after), probability(d.decided)]), [1, 2, 3]),
      el("p", { class: "note" }, "Wrong: the probability that the most probable answer is wrong. Decided: the probability that one answer will have at least 90 %.")) : null);
}

function curves(shown, campaign) {
  const drawn = shown.curves.filter((curve) => curve.points.length > 1);
  if (!drawn.length) return null;
  const unit = (name) => campaign.variables.find((v) => v.name === name)?.unit;
  return el("details", { open: true, id: "curves" }, el("summary", {}, "Information over values"),
    el("p", { class: "note" }, "What an experiment alone would teach, by the value that is set; the band is one standard error to each side, vertical lines are the chosen values."),
    el("div", { class: "figures" }, drawn.map((curve) => lines(`set ${curve.target}`, [{ name: curve.target, colour: "c0", shape: "circle", points: curve.points.map(([x, y]) => [x, y]) }], {
      xLabel: unit(curve.target) ? `${curve.target} (${unit(curve.target)})` : curve.target, yLabel: shown.unit, yRange: [0, 0],
      bands: [{ colour: "c0", points: curve.points.map(([x, y, e]) => [x, Math.max(0, y - e), y + e]) }],
      marks: shown.batch.filter((one) => Object.keys(one.targets).length === 1 && curve.target in one.targets).map((one) => ({ x: one.targets[curve.target], label: one.experiment })),
    }))));
}

function giveUp(context, shown, pending) {
  const note = el("input", { id: "give-up-note", placeholder: "why" });
  const box = dialog("Give up what is awaited?",
    el("p", {}, `${count(pending, "result")} of proposal ${shown.proposal} will be noted as failed. You can undo this.`),
    el("label", { class: "stack" }, "Note for the history", note),
    buttons(button("Give them up", async () => {
      await post(`${context.path}/abandon`, { proposal: shown.proposal, note: note.value });
      box.close();
      notice("Given up.");
      await context.redraw();
    }, { class: "primary" }), el("button", { type: "button", onclick: () => box.close() }, "Keep waiting")));
}

/** The form on paper: what is set is printed, the rest is empty. */
function print(shown, campaign, id) {
  const names = campaign.variables.map((v) => v.name);
  const sheet = el("div", { class: "print" },
    el("h1", {}, `${id}: form of proposal ${shown.proposal}`),
    el("p", {}, "Fill in what you measure. If you set another value than printed, write the value that you set. If an experiment did not work, write “failed” into the last column."),
    el("table", {}, el("thead", {}, el("tr", {}, ["experiment", "replicate", ...campaign.variables.map((v) => (v.unit ? `${v.name} (${v.unit})` : v.name)), "set", "status"].map((head) => el("th", {}, head)))),
      el("tbody", {}, shown.rows.map((row) => el("tr", {}, [row.experiment, String(row.replicate), ...names.map((name) => (row.values[name] === null || row.values[name] === undefined ? "" : number(row.values[name], 8))), row.targets.join(" "), row.status].map((cell) => el("td", {}, cell)))))));
  document.body.append(sheet);
  document.body.classList.add("printing");
  const clean = () => { sheet.remove(); document.body.classList.remove("printing"); };
  addEventListener("afterprint", clean, { once: true });
  window.print();
}
