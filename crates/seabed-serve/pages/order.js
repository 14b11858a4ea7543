// What comes before what: variables in steps, of which a later one never causes an earlier one.

import { el } from "./dom.js";

/** Fields for the step of each variable; `steps` maps names to what was typed, and `changed` is called after a change. */
export function orderFields(names, steps, changed) {
  const field = (name) => el("label", {}, name, el("input", {
    type: "number", min: 1, step: 1, value: steps.get(name) ?? "", "aria-label": `${name}: step in time`, placeholder: "–",
    onchange: (event) => {
      if (event.target.value.trim()) steps.set(name, event.target.value.trim());
      else steps.delete(name);
      changed();
    },
  }));
  return el("details", { id: "order", open: steps.size > 0 },
    el("summary", {}, "Do some variables come before others?"),
    el("p", {}, "Give a step – 1 for what comes first, 2 for what comes next, and so on – to what has its place in time, as a treatment has before what is measured a week later. What comes later does not cause what came earlier; within a step everything is open, and so is what has no step."),
    el("div", { class: "fields" }, names.map(field)));
}

/** Is it ruled out by the steps that the first causes the second? */
export const ruledOut = (steps, cause, effect) => {
  const [from, to] = [cause, effect].map((name) => (steps.has(name) ? Number(steps.get(name)) : NaN));
  return from > to;
};

/** The steps as lists of names, the earliest first. */
export function tiers(names, steps) {
  const used = names.filter((name) => steps.has(name));
  const wrong = used.find((name) => !Number.isInteger(Number(steps.get(name))) || Number(steps.get(name)) < 1);
  if (wrong) throw new Error(`Step of ${wrong}: “${steps.get(wrong)}” is not a whole number from 1 on.`);
  const numbers = [...new Set(used.map((name) => Number(steps.get(name))))].sort((a, b) => a - b);
  return numbers.map((number) => used.filter((name) => Number(steps.get(name)) === number));
}
