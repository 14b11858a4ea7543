// The first page: the campaigns of the folder, or the way to the first one.

import { get } from "./api.js";
import { count, el, replace, time } from "./dom.js";

export async function startPage(server) {
  const { campaigns } = await get("campaigns");
  // A single file is served: no list of one.
  if (!server.folder && campaigns.length === 1 && !campaigns[0].problem) {
    location.replace(`#/c/${encodeURIComponent(campaigns[0].id)}`);
  } else if (campaigns.length === 0 && server.can_create) {
    location.replace("#/new");
  }
  const place = el("div");
  const draw = (all) => replace(place,
    all.length ? el("ul", { class: "cards" }, all.map(card)) : el("p", {}, "There is no campaign here yet."));
  draw(campaigns);
  const element = el("div", {},
    el("h1", { tabindex: "-1" }, "Campaigns"),
    el("p", {}, "A campaign is one question about one system: what was measured, which experiments were proposed, what came out, and what is believed about causes."),
    place,
    server.can_create ? el("p", {}, el("a", { class: "primary", href: "#/new" }, "Begin a campaign")) : null,
    el("p", { class: "note" }, `seabed ${server.version}, on this computer: nothing leaves it.`));
  return { title: "Campaigns", element, event: async (event) => {
    if (event.type !== "job") draw((await get("campaigns")).campaigns);
  } };
}

function card(campaign) {
  const address = `#/c/${encodeURIComponent(campaign.id)}`;
  if (campaign.problem) return el("li", { class: "card" }, el("strong", {}, campaign.id), el("p", { class: "bad" }, campaign.problem));
  return el("li", { class: "card" },
    el("a", { class: "title", href: address }, campaign.id),
    el("p", { class: "note" }, `${count(campaign.variables ?? 0, "variable")}, ${count(campaign.rows ?? 0, "measurement")}, `,
      campaign.pending ? el("strong", {}, `${count(campaign.pending, "result")} awaited`) : "nothing awaited"),
    campaign.changed ? el("p", { class: "note" }, "last change ", time(campaign.changed)) : null);
}
