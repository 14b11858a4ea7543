// The server's interface (openapi.json): requests, errors as people read them, and what happens elsewhere.

export class Problem extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, error, { status });
  }
}

const WHO = "seabed-who";

export const who = () => {
  try { return localStorage.getItem(WHO) ?? ""; } catch { return ""; }
};

export const setWho = (name) => {
  try { localStorage.setItem(WHO, name.trim()); } catch { /* A browser that keeps nothing: the name lasts as long as the page. */ }
};

/** Random enough to be used once. */
const key = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function answer(response) {
  const text = await response.text();
  let body = null;
  try { body = text ? JSON.parse(text) : null; } catch { /* Not ours; told below. */ }
  if (response.ok) return body;
  if (response.status === 401) throw new Problem(401, { kind: "unauthorized", message: "This page needs the full address that `seabed serve` printed when it started. Open that address." });
  throw new Problem(response.status, body?.error ?? { kind: "environment", message: `The server answered ${response.status}: ${text.slice(0, 200)}` });
}

/** When this page last changed something, in milliseconds. */
export let changedAt = 0;

async function send(path, options, tries) {
  for (let k = 1; ; k += 1) {
    try {
      return await answer(await fetch(`/api/v1/${path}`, options));
    } catch (error) {
      if (error instanceof Problem) throw error;
      // The answer was lost. With its key, the same request changes nothing twice.
      if (k >= tries) throw new Problem(0, { kind: "environment", message: "The server does not answer. Is `seabed serve` still running?" });
      await new Promise((done) => setTimeout(done, 400 * k));
    } finally {
      if (options.method === "POST") changedAt = Date.now();
    }
  }
}

export const get = (path) => send(path, { headers: { Accept: "application/json" } }, 1);

const changing = () => ({ "Idempotency-Key": key(), "Seabed-Who": encodeURIComponent(who()) });

/** A change, as JSON. */
export const post = (path, body = {}) =>
  send(path, { method: "POST", headers: { "Content-Type": "application/json", ...changing() }, body: JSON.stringify(body) }, 3);

/** The largest file that the server takes, in bytes; told by the server. */
let most = Infinity;
export const setMost = (bytes) => { most = bytes; };

/** A file, raw. */
export async function upload(path, file, options = {}) {
  // The server would refuse it too, after all of it was sent.
  if (file.size > most) throw new Error(`${file.name} has ${Math.ceil(file.size / 1e6)} MB; at most ${Math.floor(most / 1e6)} MB can be read here.`);
  return send(`${path}?${query({ name: file.name, ...options })}`, { method: "POST", headers: { "Content-Type": "application/octet-stream", ...changing() }, body: file }, 3);
}

/** A query; lists are repeated, what is empty is left out. */
export function query(options) {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") parts.append(name, one);
  }
  return parts.toString();
}

export const campaignPath = (id) => `campaigns/${encodeURIComponent(id)}`;

/** Does a server answer that does not know this page any more? */
async function startedAnew() {
  try { return (await fetch("/api/v1/server")).status === 401; } catch { return false; }
}

/** Calls `listener` with every event of the server, and with `{type: "again"}` after a break in which some may have been missed. */
export function listen(listener) {
  const source = new EventSource("/api/v1/events");
  let broken = false;
  const offline = document.getElementById("offline");
  source.onopen = () => {
    offline.hidden = true;
    if (broken) listener({ type: "again" });
    broken = false;
  };
  source.onerror = async () => {
    broken = true;
    offline.replaceChildren(await startedAnew() ? "The server was started anew. Open the address that it printed: the token in it is a new one." : "The server does not answer. Is seabed serve still running? What you typed stays here.");
    offline.hidden = source.readyState === EventSource.OPEN;
    // The browser tries again by itself unless the answer was an error.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { source.close(); listen(listener); }, 3000);
  };
  const tell = (event) => {
    try { listener(JSON.parse(event.data)); } catch { /* A comment or a half line. */ }
  };
  source.onmessage = tell;
  for (const name of ["job", "campaign"]) source.addEventListener(name, tell);
}
