// Which page is shown: `#/` the campaigns, `#/new` a new one, `#/c/ID/SECTION` a campaign.

import { get, listen, setMost, setWho, who } from "./api.js";
import { el, notice, problem, replace } from "./dom.js";
import { startPage } from "./start.js";
import { createPage } from "./create.js";
import { campaignPage } from "./campaign.js";

const main = document.getElementById("main");
let shown = null;
let server = null;
let turn = 0;

async function show(focus) {
  const mine = ++turn;
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const address = location.hash;
  try {
    server ??= await get("server");
    setMost(server.upload_limit);
    if (shown?.stays?.(parts)) {
      await shown.go(parts);
    } else {
      const next = parts[0] === "c" && parts[1] ? campaignPage(server, parts[1], parts[2])
        : parts[0] === "new" ? createPage(server) : startPage(server);
      const page = await next;
      // Somebody clicked on before this page had arrived.
      if (mine !== turn) return;
      shown = page;
      replace(main, page.element);
    }
    document.title = `${shown.title} – seabed`;
  } catch (error) {
    if (mine !== turn) return;
    shown = null;
    main.replaceChildren(problem(error), el("p", {}, el("a", { href: "#/" }, "All campaigns")));
  }
  if (focus && address === location.hash) (main.querySelector("h2.section") ?? main.querySelector("h1"))?.focus();
}

addEventListener("hashchange", () => show(true));

listen((event) => {
  if (event.type === "again") server = null;
  shown?.event?.(event);
});

const name = document.getElementById("who");
name.value = who();
name.addEventListener("change", () => {
  setWho(name.value);
  notice(name.value.trim() ? `What you change is noted as done by ${name.value.trim()}.` : "What you change is noted without a name.");
});
document.getElementById("skip").addEventListener("click", () => main.focus());

show(false);
