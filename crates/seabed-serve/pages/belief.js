// What is believed now: the graph, the matrix, and all edges as a list.

import { button, buttons, el, probability, sayings, table } from "./dom.js";
import { edgeDialog } from "./edge.js";
import { graph, matrix, undecided } from "./graph.js";

export async function beliefSection(context) {
  const { status, campaign } = context;
  const { names, probabilities: p, fresh, working_out: working } = await context.get("edges");
  if (!p && working) return el("p", { role: "status" }, "What is believed is being worked out …");
  if (!p) return el("p", {}, campaign.rows ? "Nothing was learned yet." : "There are no measurements yet.");
  const pick = (i, j) => edgeDialog(context, names[i], names[j]);
  const pairs = names.flatMap((_, i) => names.map((_, j) => ({ i, j, p: p[i][j] }))).filter((edge) => edge.i !== edge.j);
  const open = pairs.filter((edge) => edge.i < edge.j && undecided(p, edge.i, edge.j)).length;
  const all = (names.length * (names.length - 1)) / 2;
  const listed = pairs.sort((a, b) => b.p - a.p).filter((edge, k) => k < 200 && (edge.p >= 0.05 || k < 10));
  const wide = (label) => (names.length > 30 ? { class: "wide-figure", role: "region", "aria-label": label, tabindex: "0" } : {});
  const cautions = [status.belief?.warning, ...(status.belief?.cautions ?? []), ...status.warnings].filter(Boolean);
  return [
    fresh || working ? null : el("p", { class: "caution" }, "There are measurements that this belief does not know yet."),
    fresh || working || campaign.read_only || campaign.jobs.length || !campaign.pending ? null : buttons(button("Learn again", () => context.start("fit", {}), { id: "learn-again" })),
    el("p", {}, `Of ${all} pairs of variables, ${all - open} are decided (one answer has at least 90 %), ${open} not yet. Click an edge or a cell to see where its probability comes from.`),
    sayings(cautions, "caution"),
    // Beside each other while they are small.
    el("div", { class: names.length > 30 ? null : "pair" },
      el("div", wide("Graph"), graph(names, p, pick), el("p", { class: "note" }, "An arrow is a direct cause. The wider, the more probable; orange, dashed and with a question mark: not yet decided.")),
      el("div", wide("Matrix"), matrix(names, p, pick))),
    el("details", { id: "edge-list" }, el("summary", {}, "The edges as a list"),
      table("Edges", ["Edge", "Probability", "Decided?", "More"], listed.map((edge) => [
        `${names[edge.i]} → ${names[edge.j]}`, probability(edge.p), undecided(p, edge.i, edge.j) ? "not yet" : edge.p >= 0.5 ? "it exists" : "it does not exist",
        el("button", { type: "button", id: `edge-${edge.i}-${edge.j}`, "aria-label": `Details of ${names[edge.i]} → ${names[edge.j]}`, onclick: () => pick(edge.i, edge.j) }, "Details")]), [1])),
  ];
}
