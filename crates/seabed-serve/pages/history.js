// Who did what, when; the last action can be undone.

import { get, post } from "./api.js";
import { button, buttons, dialog, el, notice, time } from "./dom.js";

const WORDS = { new: "Created", add: "Added data", propose: "Proposed", record: "Recorded", amend: "Corrected" };

export async function historySection(context) {
  const { actions } = await get(`${context.path}/history`);
  const last = context.campaign.last_action;
  const undo = last > 1 && !context.campaign.read_only;
  const rows = [...actions].sort((a, b) => b.id - a.id).map((action) => el("tr", { class: action.undone ? "undone" : "" },
    el("td", { class: "number" }, String(action.id)), el("td", {}, time(action.at)), el("td", {}, action.who || "–"),
    el("td", {}, WORDS[action.kind] ?? action.kind), el("td", {}, action.what), el("td", {}, action.note),
    el("td", {}, action.undone ? el("span", { class: "note" }, time(action.undone)) : "")));
  const newest = actions.find((action) => action.id === last);
  return [
    undo && newest ? el("p", {}, el("button", { type: "button", id: "undo", onclick: () => ask(context, newest) }, `Undo the last action: ${(WORDS[newest.kind] ?? newest.kind).toLowerCase()} (no. ${last})`)) : null,
    el("p", {}, "Nothing is ever deleted: what is undone or corrected stays here. To correct a single result, go to ", el("a", { href: context.address("results") }, "Results"), "."),
    el("div", { class: "scroll", role: "region", "aria-label": "History", tabindex: "0" },
      el("table", {}, el("thead", {}, el("tr", {}, ["No.", "When", "Who", "What", "Details", "Note", "Undone"].map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows))),
  ];
}

function ask(context, action) {
  const box = dialog("Undo the last action?",
    el("p", {}, `${WORDS[action.kind] ?? action.kind}: ${action.what}`, action.who ? ` (${action.who})` : ""),
    buttons(button("Undo it", async () => {
      await post(`${context.path}/undo`, { action: action.id });
      box.close();
      notice("Undone; it stays in the history.");
      await context.redraw();
    }, { class: "primary", id: "undo-yes" }), el("button", { type: "button", onclick: () => box.close() }, "Keep it")));
}
