// What leaves the campaign: the report, everything as files, a copy.

import { el } from "./dom.js";

export function reportSection({ path, campaign, status }) {
  const to = (what) => `/api/v1/${path}/${what}`;
  const item = (link, words) => el("li", { class: "card" }, link, el("p", { class: "note" }, words));
  const learned = Boolean(status.belief || campaign.proposals);
  return el("ul", { class: "cards" },
    learned ? null : item(el("strong", {}, "The report"), "Nothing was learned yet. Learn from the measurements or ask for experiments first."),
    learned && item(el("a", { class: "title", href: to("report"), target: "_blank", rel: "noopener", id: "open-report" }, "Open the report"), "One page that stands alone: where the campaign stands in words, the edges, effects, every experiment with what it was for and what came."),
    learned && item(el("a", { class: "title", href: to("report"), download: `${campaign.id}.html`, id: "save-report" }, "Save the report"), "The same page as a file, to send or to print."),
    item(el("a", { class: "title", href: to("export"), download: "", id: "export" }, "Export everything"), "All measurements, proposals, results and beliefs as CSV and JSON, zipped."),
    item(el("a", { class: "title", href: to("backup"), download: "", id: "backup" }, "Save a copy"), "The campaign's file itself, right also while others are working. Other computers open it with seabed."));
}
