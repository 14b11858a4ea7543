// The believed graph and its matrix. Edges can be clicked, and reached with the Tab and the arrow keys.
//
// Places are those of the reports (seabed-report/src/layout.rs): in layers, causes above effects, or on a circle if there are many.

import { arrows, figure, probability, round, svg } from "./dom.js";

const [LAYERED_UP_TO, MOST_ROWS, NAME_WIDTH] = [30, 11, 62];

/** An answer about a pair is decided if it has at least this probability. */
const DECIDED = 0.9;

/** Is it open whether from -> to, to -> from, or neither? */
export function undecided(p, i, j) {
  const answers = [p[i][j], p[j][i], 1 - p[i][j] - p[j][i]];
  return Math.max(...answers) < DECIDED;
}

const textWidth = (text, size) => [...text].reduce((sum, c) => sum + (/[ilI.,:;|!'\s]/.test(c) ? 0.32 : /[A-ZmwMW_]/.test(c) ? 0.74 : 0.58), 0) * size;

export function fitted(text, size, width) {
  if (textWidth(text, size) <= width) return text;
  let kept = "";
  for (const c of text) {
    if (textWidth(kept + c, size) + 0.9 * size > width) break;
    kept += c;
  }
  return kept + "…";
}

function withoutCycles(parents) {
  const kept = parents.map(() => []);
  const state = parents.map(() => 0);
  const visit = (node) => {
    state[node] = 1;
    for (const parent of parents[node]) {
      if (state[parent] !== 1) kept[node].push(parent);
      if (state[parent] === 0) visit(parent);
    }
    state[node] = 2;
  };
  parents.forEach((_, node) => { if (state[node] === 0) visit(node); });
  return kept;
}

function rowsOf(parents) {
  const n = parents.length;
  const all = [...Array(n).keys()];
  const children = all.map((i) => all.filter((j) => parents[j].includes(i)));
  const depth = Array(n).fill(-1);
  const deep = (v) => (depth[v] >= 0 ? depth[v] : (depth[v] = Math.max(-1, ...parents[v].map(deep)) + 1));
  all.forEach(deep);
  const alone = (v) => parents[v].length === 0 && children[v].length === 0;
  const layers = [];
  for (let at = 0; at <= Math.max(0, ...depth); at += 1) layers.push(all.filter((v) => depth[v] === at && !alone(v)));
  layers.push(all.filter(alone));
  const rows = layers.flatMap((layer) => {
    const pieces = Math.ceil(layer.length / 5);
    const size = Math.ceil(layer.length / Math.max(1, pieces));
    return Array.from({ length: pieces }, (_, k) => layer.slice(k * size, (k + 1) * size));
  }).filter((row) => row.length);
  const place = Array(n).fill(0);
  const stand = (row) => row.forEach((v, k) => { place[v] = (k + 0.5) / row.length; });
  rows.forEach(stand);
  for (let sweep = 0; sweep < 8; sweep += 1) {
    const near = sweep % 2 === 0 ? parents : children;
    const middle = (v) => (near[v].length ? near[v].reduce((sum, u) => sum + place[u], 0) / near[v].length : place[v]);
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      row.sort((a, b) => middle(a) - middle(b));
      stand(row);
    }
  }
  return rows;
}

function layout(names, p) {
  const all = [...names.keys()];
  const parents = withoutCycles(all.map((j) => all.filter((i) => i !== j && p[i][j] >= 0.5)));
  const rows = rowsOf(parents);
  if (names.length > LAYERED_UP_TO || rows.length > MOST_ROWS) {
    // So large that the names do not touch each other.
    const radius = Math.max(150, (all.length * 11.5) / (2 * Math.PI));
    const size = 2 * radius + 160;
    const centres = all.map((k) => {
      const angle = (k / all.length - 0.25) * 2 * Math.PI;
      return [size / 2 + radius * Math.cos(angle), size / 2 + radius * Math.sin(angle)];
    });
    return { width: size, height: size, centres, halves: all.map(() => [3.5, 3.5]), circular: true };
  }
  const width = 420;
  const spacing = rows.length > 7 ? 54 : 70;
  const centres = [];
  rows.forEach((row, r) => row.forEach((v, k) => {
    // Every other row is shifted, so that straight edges run beside nodes and not through them.
    centres[v] = [((k + 0.5) / row.length) * (width - 24) + 12 + (r % 2 ? 9 : -9), 26 + r * spacing];
  }));
  const halves = names.map((name) => [Math.max(15, Math.min(textWidth(name, 12), NAME_WIDTH) / 2 + 7), 13]);
  return { width, height: 52 + (rows.length - 1) * spacing, centres, halves, circular: false };
}

const curve = (a, b, bend) => [a, [(a[0] + b[0]) / 2 + 2 * bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - 2 * bend * (b[0] - a[0])], b];

function blossom([a, b, c], s, t) {
  const w = [(1 - s) * (1 - t), (1 - s) * t + s * (1 - t), s * t];
  return [0, 1].map((k) => w[0] * a[k] + w[1] * b[k] + w[2] * c[k]);
}

const inside = (point, centre, half, margin) =>
  Math.abs(point[0] - centre[0]) < half[0] + margin && Math.abs(point[1] - centre[1]) < half[1] + margin;

/** The bend that touches the fewest other nodes, the straightest of them. */
function clearCurve(places, edge, both) {
  const bends = places.circular ? [both ? 0.04 : 0]
    : both ? [0.1, 0.17, 0.25, 0.35, 0.5, -0.25, -0.5]
    : [0, 0.08, -0.08, 0.15, -0.15, 0.22, -0.22, 0.3, -0.3, 0.4, -0.4, 0.55, -0.55];
  let best = null;
  for (const bend of bends) {
    const one = curve(places.centres[edge.i], places.centres[edge.j], bend);
    const points = Array.from({ length: 39 }, (_, k) => blossom(one, (k + 1) / 40, (k + 1) / 40));
    let met = places.circular ? 0 : places.centres.filter((centre, v) => v !== edge.i && v !== edge.j && points.some((point) => inside(point, centre, places.halves[v], 3))).length;
    const middle = [places.width / 2, places.height / 2];
    if (points.some((point) => !inside(point, middle, middle, -2))) met += places.centres.length;
    if (!best || met < best.met) best = { met, one };
  }
  return best.one;
}

function drawEdge(places, names, p, edge, both, onpick) {
  const path = clearCurve(places, edge, both);
  const at = (k) => blossom(path, k / 100, k / 100);
  const out = (v, margin) => (k) => !inside(at(k), places.centres[v], places.halves[v], margin);
  const steps = [...Array(101).keys()];
  const first = steps.find(out(edge.i, 1)) ?? 0;
  const tip = steps.findLast(out(edge.j, 1.5)) ?? 100;
  const size = 6 + 3 * edge.p;
  const end = at(tip);
  const neck = steps.slice(first, tip).findLast((k) => Math.hypot(at(k)[0] - end[0], at(k)[1] - end[1]) >= size) ?? first;
  const [start, control, stop] = [at(first), blossom(path, first / 100, neck / 100), at(neck)];
  const length = Math.max(1e-6, Math.hypot(end[0] - stop[0], end[1] - stop[1]));
  const side = [((end[1] - stop[1]) / length) * size * 0.45, (-(end[0] - stop[0]) / length) * size * 0.45];
  const xy = (point) => `${round(point[0])} ${round(point[1])}`;
  const d = `M${xy(start)}Q${xy(control)} ${xy(stop)}`;
  const open = undecided(p, edge.i, edge.j);
  const label = `${names[edge.i]} → ${names[edge.j]}: probability ${probability(edge.p)}${open ? ", undecided" : ""}`;
  const middle = at(Math.round((first + neck) / 2));
  return svg("g", { class: `touch${open ? " open" : ""}`, role: "button", tabindex: "0", "aria-label": label, "data-edge": `${names[edge.i]} → ${names[edge.j]}`,
    onclick: () => onpick(edge.i, edge.j),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onpick(edge.i, edge.j); } } },
    svg("title", {}, label),
    svg("g", { opacity: (0.45 + 0.55 * edge.p).toFixed(2) },
      svg("path", { class: "edge", "stroke-width": round((0.9 + 3.6 * edge.p) * (places.circular ? 0.6 : 1)), d }),
      svg("path", { class: "head", d: `M${xy(end)}L${xy([stop[0] + side[0], stop[1] + side[1]])}L${xy([stop[0] - side[0], stop[1] - side[1]])}Z` })),
    open && !places.circular ? svg("text", { class: "mark mid halo", x: round(middle[0]), y: round(middle[1] + 4) }, "?") : null,
    svg("path", { class: "hit", d }));
}

/** The graph: the 3 d most probable edges, and all that are more probable than not; width by probability, undecided ones orange, dashed and with a question mark. */
export function graph(names, p, onpick) {
  const places = layout(names, p);
  const all = names.flatMap((_, i) => names.map((_, j) => ({ i, j, p: p[i][j] }))).filter((edge) => edge.i !== edge.j && edge.p >= 0.1);
  const edges = all.sort((a, b) => b.p - a.p).filter((edge, k) => k < 3 * names.length || edge.p >= 0.5).reverse();
  const least = edges.length < all.length ? edges[0].p : 0.1;
  const nodes = names.map((name, v) => {
    const [x, y] = places.centres[v];
    const [w, h] = places.halves[v];
    if (places.circular) {
      const angle = (Math.atan2(y - places.height / 2, x - places.width / 2) * 180) / Math.PI;
      const left = Math.abs(angle) > 90;
      return svg("g", {}, svg("circle", { class: "node", cx: round(x), cy: round(y), r: 3.5 }),
        svg("text", { class: left ? "small end" : "small", transform: `translate(${round(x)} ${round(y)}) rotate(${round(left ? angle + 180 : angle)})`, x: left ? -8 : 8, y: 3.5 }, fitted(name, 10.5, 66)), svg("title", {}, name));
    }
    return svg("g", {}, svg("rect", { class: "node", x: round(x - w), y: round(y - h), width: round(2 * w), height: round(2 * h), rx: round(h) }),
      svg("text", { class: "mid", x: round(x), y: round(y + 4) }, fitted(name, 12, NAME_WIDTH)), svg("title", {}, name));
  });
  const title = edges.length ? `edges with a probability of at least ${Math.floor(least * 100) / 100}` : "no edge has a probability of 0.1 or more";
  return figure("Believed graph", places.width, places.height + 26,
    svg("text", { class: "title", x: 12, y: 18 }, title),
    svg("g", { class: "plot", transform: "translate(0 26)" },
      edges.map((edge) => drawEdge(places, names, p, edge, edges.some((other) => other.i === edge.j && other.j === edge.i), onpick)), nodes));
}

/** The matrix: causes in rows, effects in columns; undecided pairs are outlined. */
export function matrix(names, p, onpick) {
  const n = names.length;
  const cell = n <= 9 ? 34 : Math.max(14, 300 / n);
  const small = cell < 16;
  const labels = Math.min(78, Math.max(20, ...names.map((name) => textWidth(name, small ? 10.5 : 12))));
  const [left, top, size] = [labels + 32, labels + 56, cell * n];
  const heads = names.map((name, v) => {
    const centre = (v + 0.5) * cell + 4;
    const text = fitted(name, small ? 10.5 : 12, labels + 1);
    return [svg("text", { class: small ? "end small" : "end", x: round(left - 5), y: round(top + centre) }, text, svg("title", {}, name)),
      svg("text", { class: small ? "small" : "", transform: `translate(${round(left + centre)} ${round(top - 5)}) rotate(-90)` }, text, svg("title", {}, name))];
  });
  const parts = [];
  const pairs = names.flatMap((_, i) => names.map((_, j) => [i, j])).filter(([i, j]) => i !== j);
  const box = (i, j, inset) => ({ x: round(j * cell + inset), y: round(i * cell + inset), width: round(cell - 2 * inset), height: round(cell - 2 * inset) });
  for (const [i, j] of pairs) {
    const value = p[i][j];
    if (value >= 0.005) parts.push(svg("rect", { class: "cell", ...box(i, j, 0.5), "fill-opacity": value.toFixed(2) }));
    if (value >= 0.05 && undecided(p, i, j)) parts.push(svg("rect", { class: "edgecell", ...box(i, j, 1.5) }));
    if (cell >= 30 && value >= 0.005) parts.push(svg("text", { class: "mid small", x: round((j + 0.5) * cell), y: round((i + 0.5) * cell + 4) }, value.toFixed(2)));
  }
  // With hundreds of variables the graph and the list are the way in.
  const touchable = n <= 40;
  if (touchable) {
    for (const [i, j] of pairs) {
      const label = `${names[i]} → ${names[j]}: probability ${probability(p[i][j])}`;
      const pick = () => onpick(i, j);
      parts.push(svg("rect", { class: "pick", ...box(i, j, 1), role: "button", "data-i": i, "data-j": j, "aria-label": label, onclick: pick,
        onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); } } }, svg("title", {}, label)));
    }
  }
  const width = Math.max(left + size + 14, 360);
  const scale = Array.from({ length: 5 }, (_, k) => [svg("rect", { class: "empty", x: 96 + 16 * k, y: 2, width: 16, height: 14 }), svg("rect", { class: "cell", x: 96 + 16 * k, y: 2, width: 16, height: 14, "fill-opacity": k / 4 })]);
  const picture = figure("Matrix of edge probabilities", width, top + size + 40,
    svg("text", { class: "title", x: 12, y: 18 }, "edge probabilities"),
    svg("text", { class: "soft mid", x: round(left + Math.max(20, size / 2)), y: 40 }, "effect"),
    svg("text", { class: "soft mid", transform: `translate(16 ${round(top + Math.max(20, size / 2))}) rotate(-90)` }, "cause"),
    heads,
    svg("g", { class: "plot", transform: `translate(${round(left)} ${round(top)})` },
      svg("rect", { class: "empty", width: round(size), height: round(size) }),
      svg("path", { class: "diagonal", d: `M0 0L${round(size)} ${round(size)}` }), parts),
    svg("g", { class: "legend", transform: `translate(12 ${round(top + size + 14)})` },
      svg("text", { class: "soft", y: 13 }, "probability 0"), scale, svg("text", { class: "soft", x: 182, y: 13 }, "1"),
      svg("rect", { class: "edgecell", x: 214, y: 2, width: 14, height: 14 }), svg("text", { class: "soft", x: 234, y: 13 }, "undecided")));
  if (touchable) arrows(picture);
  return picture;
}
