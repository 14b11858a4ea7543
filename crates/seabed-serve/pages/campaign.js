// A campaign: its sections, what to do now, and its running work. Draws again when somebody else changes something.

import { campaignPath, changedAt, get, post } from "./api.js";
import { button, buttons, count, el, notice, problem, replace } from "./dom.js";
import { beliefSection } from "./belief.js";
import { dataSection } from "./data.js";
import { historySection } from "./history.js";
import { progressSection } from "./progress.js";
import { proposeSection } from "./propose.js";
import { reportSection } from "./report.js";
import { resultsSection } from "./results.js";

const SECTIONS = {
  belief: ["What is believed", beliefSection],
  next: ["What to do next", proposeSection],
  results: ["Results", resultsSection],
  data: ["Data", dataSection],
  progress: ["Progress and checks", progressSection],
  history: ["History", historySection],
  report: ["Report", reportSection],
};

export async function campaignPage(server, id, section) {
  const path = campaignPath(id);
  const places = { todo: el("div"), job: el("div"), nav: el("div"), section: el("section") };
  const element = el("div", {},
    el("h1", { tabindex: "-1" }, id),
    places.todo, places.job, places.nav, places.section);
  const page = { title: id, element };
  const address = (name) => `#/c/${encodeURIComponent(id)}/${name}`;
  let current = section in SECTIONS ? section : "belief";
  const context = { server, id, path, address, campaign: null, status: null, drafts: new Map(), redraw: () => load(), working: false };
  /** Asks for something about the campaign; what is being worked out will be told, and is shown then. */
  context.get = async (what) => {
    const answer = await get(`${path}/${what}`);
    context.working ||= Boolean(answer.working_out);
    return answer;
  };
  let drawing = Promise.resolve();
  let endedAt = 0;
  /** Jobs of which this page knows that they are over. */
  const over = new Set();
  /** The newest revision of which everything is worked out. */
  let workedOut = null;

  async function load() {
    context.working = false;
    [context.campaign, context.status] = await Promise.all([get(path), context.get("status")]);
    const job = context.campaign.jobs.at(-1) ?? await ended(places.job.dataset.id);
    if (job) showJob(job);
    else if (!places.job.dataset.ended) replace(places.job);
    draw();
    await drawSection();
    // It may have been told while this was on its way.
    if (context.working && context.status.revision === workedOut) await load();
  }

  function draw() {
    replace(places.todo, todo(context), context.status.working_out
      ? el("p", { class: "note", role: "status", id: "working-out" }, "What follows from the newest state is being worked out; this page shows it as soon as it is there.") : null);
    replace(places.nav, el("nav", { class: "sections", "aria-label": "Sections of the campaign" }, Object.entries(SECTIONS).map(([name, [title]]) =>
      el("a", { href: address(name), id: `to-${name}`, "aria-current": name === current ? "page" : null }, title,
        name === "results" && context.campaign.pending ? [" ", el("span", { class: "count", "aria-label": `${context.campaign.pending} awaited` }, String(context.campaign.pending))] : null))));
  }

  function drawSection() {
    const name = current;
    // One after the other: a slow answer never overwrites a newer one.
    drawing = drawing.then(async () => {
      if (name !== current) return;
      try {
        const inside = await SECTIONS[name][1](context);
        if (name === current) replace(places.section, el("h2", { class: "section", tabindex: "-1" }, SECTIONS[name][0]), inside);
      } catch (error) {
        if (name === current) replace(places.section, problem(error));
      }
    });
    return drawing;
  }

  /** How a job ended that this page still shows as going on: its last event may have been missed. */
  async function ended(job) {
    if (!job) return null;
    try {
      return await get(`jobs/${encodeURIComponent(job)}`);
    } catch {
      places.job.dataset.id = "";
      return null;
    }
  }

  function showJob(job) {
    const going = job.state === "waiting" || job.state === "running";
    // The answer to a request may come later than the event of what happened since.
    if (going && over.has(job.id)) return;
    if (!going) over.add(job.id);
    places.job.dataset.ended = going ? "" : "1";
    const { done, all, what } = job.progress;
    const words = job.state === "waiting" ? "Waiting for other work to end …" : what || (job.kind === "fit" ? "Learning from the measurements …" : "Looking for the next experiments …");
    if (going) {
      const old = places.job.querySelector("progress");
      if (old && places.job.dataset.id === job.id) {
        // Only the numbers change: a button that is being pressed stays.
        if (all) [old.max, old.value] = [all, done];
        places.job.querySelector(".what").textContent = words;
        return;
      }
      places.job.dataset.id = job.id;
      replace(places.job, el("div", { class: "job" },
        el("p", { role: "status" }, el("span", { class: "what" }, words)),
        el("progress", { "aria-label": "Progress", ...(all ? { max: all, value: done } : {}) }),
        buttons(button("Stop", async () => showJob(await post(`jobs/${encodeURIComponent(job.id)}/stop`)), { id: "stop-job" }),
          el("span", { class: "note" }, "You may close the page: the work goes on. Nothing is lost if you stop."))));
      return;
    }
    places.job.dataset.id = "";
    endedAt = Date.now();
    if (job.state === "done") {
      replace(places.job);
      // What was looked at before is not what was asked for now.
      if (job.proposal) context.proposal = null;
      notice(job.kind === "fit" ? "Learned from all measurements." : `Proposal ${job.proposal ?? ""} is ready.`);
    } else if (job.state === "stopped") {
      replace(places.job, el("div", { class: "job", role: "status" }, el("p", {}, "Stopped. Ask for the same again, and it continues where it stopped.")));
    } else {
      const again = job.error?.kind === "too-much-work" && context.asked
        ? buttons(button("Begin anyway", async () => context.start(context.asked.what, { ...context.asked.body, force: true }))) : null;
      replace(places.job, problem(job.error ?? { message: "The work failed." }), again);
    }
  }

  /** Starts a job: `fit` or `proposals`. */
  context.start = async (what, body) => {
    context.asked = { what, body };
    try {
      const job = await post(`${path}/${what}`, body);
      context.campaign.jobs = [job];
      draw();
      showJob(job);
    } catch (error) {
      if (error.kind !== "too-much-work") throw error;
      showJob({ state: "failed", kind: what, error, progress: {} });
    }
    element.querySelector("#stop-job")?.focus();
  };

  page.stays = (parts) => parts[0] === "c" && parts[1] === id;
  page.go = async (parts) => {
    current = parts[2] in SECTIONS ? parts[2] : "belief";
    page.title = `${SECTIONS[current][0]} – ${id}`;
    draw();
    await drawSection();
  };
  page.event = async (event) => {
    if (!element.isConnected) return;
    if (event.type === "job" && event.job.campaign === id) {
      showJob(event.job);
      if (over.has(event.job.id)) await load();
    } else if (event.type === "worked-out" && event.campaign === id) {
      workedOut = event.revision;
      if (context.working) await load();
    } else if (event.type === "again" || (event.type === "campaign" && event.campaign === id && String(event.revision) !== String(context.campaign.revision))) {
      const before = Date.now();
      await load();
      // What this page did itself, or a job that has just ended, was told already.
      if (event.type === "campaign" && before - Math.max(changedAt, endedAt) > 3000) notice("Somebody has changed the campaign; this page shows its new state.");
    }
  };
  await load();
  page.title = `${SECTIONS[current][0]} – ${id}`;
  return page;
}

/** What the campaign needs now, for somebody who sees it for the first time. */
function todo({ campaign, status, address, start }) {
  const link = (name, words) => el("a", { href: address(name) }, words);
  const numbers = el("p", { class: "note" }, `${count(campaign.variables.length, "variable")}, ${count(campaign.rows, "measurement")} (${campaign.interventional} with something set), ${count(campaign.proposals, "proposal")}, ${count(campaign.pending, "result")} awaited.`,
    campaign.incomplete ? ` ${count(campaign.incomplete, "row")} with missing values ${campaign.incomplete === 1 ? "is" : "are"} left out when learning.` : "");
  const box = (...words) => [numbers, el("div", { class: "todo" }, el("p", {}, el("strong", {}, "Now: "), ...words))];
  if (campaign.read_only) return box("The file cannot be written to. You can look at everything, but change nothing.");
  if (campaign.jobs.length) return [numbers];
  if (campaign.rows === 0) return box(link("data", "add measurements"), ".");
  if (campaign.pending) return box(`${count(campaign.pending, "result")} of the laboratory ${campaign.pending === 1 ? "is" : "are"} awaited. `, link("next", "See the experiments and take their form"), " to the bench, then ", link("results", "enter the results"), ".");
  if (status.working_out) return [numbers];
  if (!status.belief || status.not_yet_learned) {
    return [...box("learn from the measurements (", link("next", "or learn and propose experiments at once"), ")."), buttons(button("Learn now", () => start("fit", {}), { class: "primary", id: "learn" }))];
  }
  if (status.hardly_worth) return box("there is hardly anything left for more experiments to teach. ", link("report", "See the report"), ".");
  return box(link("next", "ask for the next experiments"), ".");
}
