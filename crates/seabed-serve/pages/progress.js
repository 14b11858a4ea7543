// How far the campaign is: entropy and expected wrong edges over the rounds, checks of the model, effects.

import { el, number, probability, sayings, table, time } from "./dom.js";
import { lines } from "./figures.js";

export async function progressSection(context) {
  const { status } = context;
  const [checks, { effects, working_out: working }] = await Promise.all([context.get("checks"), context.get("effects")]);
  const nothing = (words) => el("p", {}, working ? "Being worked out …" : words);
  return [
    rounds(status),
    el("h3", {}, "Checks of the model"),
    checks.belief ? [
      checks.lines.length ? sayings(checks.lines) : el("p", {}, "Nothing was found that the models could not have made."),
      el("p", { class: "note" }, `Learned from ${checks.belief.rows} rows (${checks.belief.interventional} with something set) by ${checks.belief.posterior?.kind ?? "the posterior"} in ${number(checks.belief.seconds, 3)} s.`),
    ] : nothing("Nothing was learned yet."),
    el("h3", {}, "What setting a variable does"),
    effects.length ? [
      el("p", { class: "note" }, "Change of the second variable for each unit of the first, directly and through others, on the scale of the fit. 90 % of the belief lies between the two limits."),
      table("Effects", ["Set", "changes", "by, for each unit", "90 % between", "Is there an effect?"], effects.slice(0, 200).map((one) => [one.from, one.to, `${number(one.mean, 3)}${one.unit ? ` ${one.unit}` : ""}`, `${number(one.interval[0], 3)} and ${number(one.interval[1], 3)}`, probability(one.not_zero)]), [2, 3, 4]),
    ] : nothing("Nothing is known about effects yet."),
  ];
}

function rounds(status) {
  const points = status.rounds.map((round) => [round.proposal, round.edge_entropy]);
  const wrong = status.rounds.filter((round) => round.wrong_edges !== null && round.wrong_edges !== undefined).map((round) => [round.proposal, round.wrong_edges]);
  if (status.belief && !status.not_yet_learned && points.length) points.push([points.at(-1)[0] + 1, status.belief.edge_entropy]);
  if (!points.length) return el("p", {}, "Progress is shown from the first proposal on.");
  const options = (yLabel) => ({ xLabel: "belief before proposal (last: now)", yLabel, yRange: [0, 0], whole: true });
  return [
    el("div", { class: "figures" },
      lines("entropy of the edges", [{ name: "entropy", colour: "c0", shape: "circle", points }], options("nats")),
      wrong.length ? lines("expected wrong pairs", [{ name: "wrong", colour: "c1", shape: "square", points: wrong }], { ...options("pairs"), xLabel: "belief before proposal" }) : null),
    status.hardly_worth ? el("p", { class: "good" }, "There is hardly anything left for more experiments to teach.") : null,
    table("Rounds", ["Proposal", "When", "Rows before", "Entropy", "Expected wrong pairs", "Expected to teach", "Done", "Failed", "Awaited"], status.rounds.map((round) => [
      String(round.proposal), time(round.at), String(round.rows), number(round.edge_entropy, 3), round.wrong_edges === null ? "–" : number(round.wrong_edges, 3), `${number(round.information, 3)} ± ${number(round.standard_error, 2)}`, String(round.done), String(round.failed), String(round.pending)]), [0, 2, 3, 4, 5, 6, 7, 8]),
    el("p", { class: "note" }, `Expected to teach: in ${status.unit}.`),
  ];
}
