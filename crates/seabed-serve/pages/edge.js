// One pair of variables: its probabilities over the rounds, its data, and what would decide it.

import { query } from "./api.js";
import { buttons, count, dialog, el, probability, problem, replace, settings } from "./dom.js";
import { lines, scatter } from "./figures.js";

const GROUPS = (from, to) => [
  ["none", "nothing set", "base", "circle"], ["other", "another variable set", "c2", "diamond"],
  ["from", `${from} set`, "c0", "square"], ["to", `${to} set`, "c1", "triangle"], ["both", "both set", "c3", "diamond"],
];

export async function edgeDialog(context, from, to) {
  const place = el("div", {}, el("p", { class: "note", role: "status" }, "Loading …"));
  const box = dialog(`${from} → ${to}`, place);
  try {
    const [history, pair] = await Promise.all([context.get(`edges/history?${query({ from, to })}`), context.get(`pair?${query({ from, to })}`)]);
    replace(place, content(context, history, pair, box));
  } catch (error) {
    place.replaceChildren(problem(error));
  }
}

function content(context, history, pair, box) {
  const { from, to, rounds } = history;
  const now = rounds.at(-1);
  const axis = (v) => (v.unit ? `${v.name} (${v.unit})` : v.name);
  const series = (key, name, colour, shape, dash) => ({ name, colour, shape, dash, points: rounds.map((round, k) => [k + 1, round[key]]) });
  const group = (point) => (point.set === "none" && point.other ? "other" : point.set);
  const groups = GROUPS(from, to)
    .map(([kind, name, colour, shape]) => ({ name, colour, shape, points: pair.points.filter((point) => group(point) === kind).map((point) => [point.x, point.y]) }))
    .filter((one) => one.points.length);
  return [
    now ? el("p", {}, `Now: ${from} → ${to} has a probability of ${probability(now.there)}, ${to} → ${from} of ${probability(now.back)}, and that neither causes the other directly of ${probability(Math.max(0, 1 - now.there - now.back))}.`) : null,
    el("div", { class: "pair" },
      rounds.length ? el("div", {}, lines("probability over the rounds", [series("there", `${from} → ${to}`, "c0", "circle"), series("back", `${to} → ${from}`, "c1", "square", "7 3")], { xLabel: "round", yLabel: "probability", yRange: [0, 1], whole: true })) : null,
      pair.points.length ? el("div", {}, scatter("the data of the pair", groups, axis(pair.from), axis(pair.to)),
        pair.all > pair.points.length ? el("p", { class: "note" }, `${pair.points.length} of ${pair.all} rows, evenly chosen.`) : null) : el("p", { class: "note" }, "No row has both values.")),
    el("h3", {}, "What would decide it"),
    history.decided_by.length
      ? el("ul", {}, history.decided_by.map((one) => el("li", {}, el("strong", {}, `${one.experiment}: set ${settings(one.targets, context.campaign.variables)}`),
        ` – the probability that the most probable answer is wrong falls from ${probability(one.decision.wrong_now)} to ${probability(one.decision.wrong_after)}; with probability ${probability(one.decision.decided)} the pair is decided then.`, one.pending ? " Its result is awaited." : " It is done.")))
      : el("p", {}, "No experiment of the last proposal was chosen for this pair. You can ask for experiments on it alone:"),
    buttons(el("a", { class: "button", href: context.address("next"), onclick: () => {
      context.question = { kind: "edge", a: from, b: to };
      box.close();
    } }, `Ask for experiments about ${from} → ${to}`)),
    el("p", { class: "note" }, `${count(rounds.length, "round")}; ${count(pair.all, "row")} with both values.`),
  ];
}
