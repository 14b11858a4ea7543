// Charts: lines over rounds or values, and points of a pair. Their look is that of the reports.

import { el, figure, number, round, svg } from "./dom.js";

/** Round numbers between two values. */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  const all = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) all.push(Number((k * step).toPrecision(12)));
  return all;
}

function range(values, least) {
  let [low, high] = least ?? [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!Number.isFinite(low)) return [0, 1];
  if (low === high) return [low - (Math.abs(low) * 0.1 || 0.5), high + (Math.abs(high) * 0.1 || 0.5)];
  return [low, high];
}

/** Axes of a chart: places for values, and what to draw below. */
function axes(title, xs, ys, xLabel, yLabel, xTicks) {
  const [width, height, left, right, top, bottom] = [420, 268, 54, 14, 42, 44];
  const x = (value) => round(left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - left - right));
  const y = (value) => round(height - bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom));
  const parts = [svg("text", { class: "title", x: 12, y: 18 }, title)];
  for (const value of ticks(...ys)) {
    parts.push(svg("path", { class: "grid", d: `M${left} ${y(value)}H${width - right}` }),
      svg("text", { class: "soft small end", x: left - 6, y: y(value) + 4 }, number(value)));
  }
  for (const value of xTicks ?? ticks(...xs, 6)) {
    parts.push(svg("text", { class: "soft small mid", x: x(value), y: height - bottom + 16 }, number(value)));
  }
  parts.push(svg("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }),
    svg("text", { class: "soft mid", x: round((left + width - right) / 2), y: height - 8 }, xLabel),
    svg("text", { class: "soft mid", transform: `translate(14 ${round((top + height - bottom) / 2)}) rotate(-90)` }, yLabel));
  return { width, height, x, y, parts };
}

function marker(shape, x, y, colour, size = 4) {
  const d = {
    square: `M${x - size} ${y - size}h${2 * size}v${2 * size}h${-2 * size}Z`,
    triangle: `M${x} ${round(y - size * 1.2)}L${round(x + size * 1.1)} ${y + size}H${round(x - size * 1.1)}Z`,
    diamond: `M${x} ${round(y - size * 1.3)}L${round(x + size * 1.3)} ${y}L${x} ${round(y + size * 1.3)}L${round(x - size * 1.3)} ${y}Z`,
  }[shape];
  return d ? svg("path", { class: `f-${colour}`, d }) : svg("circle", { class: `f-${colour}`, cx: x, cy: y, r: size });
}

/** The chart, and beside it what it shows as a table for who cannot see it. */
function described(picture, rows, heads) {
  if (!rows) return picture;
  return el("div", { class: "described" }, picture, el("div", { class: "hidden" }, el("table", {},
    el("caption", {}, picture.getAttribute("aria-label")),
    el("tr", {}, heads.map((head) => el("th", {}, head))), rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell)))))));
}

/** Lines over whole-numbered rounds: each `{name, colour, shape, dash, points: [[x, y]]}`. */
export function lines(title, series, { xLabel, yLabel, yRange, marks = [], whole = false, bands = [] }) {
  const points = series.flatMap((one) => one.points);
  const xs = range([...points.map((p) => p[0]), ...marks.map((mark) => mark.x)]);
  const ys = range([...points.map((p) => p[1]), ...bands.flatMap((b) => b.points.flatMap((p) => [p[1], p[2]]))], yRange);
  const xTicks = whole ? ticks(xs[0], xs[1], 8).filter((value) => Number.isInteger(value)) : undefined;
  const { width, height, x, y, parts } = axes(title, xs, ys, xLabel, yLabel, xTicks);
  for (const band of bands) {
    const upper = band.points.map((p) => `${x(p[0])} ${y(p[2])}`);
    const lower = band.points.map((p) => `${x(p[0])} ${y(p[1])}`).reverse();
    if (upper.length > 1) parts.push(svg("path", { class: `band f-${band.colour}`, d: `M${upper.concat(lower).join("L")}Z` }));
  }
  for (const one of series) {
    if (one.points.length > 1) {
      parts.push(svg("path", { class: `line s-${one.colour}`, "stroke-dasharray": one.dash, d: "M" + one.points.map((p) => `${x(p[0])} ${y(p[1])}`).join("L") }));
    }
    if (one.points.length <= 60) parts.push(...one.points.map((p) => marker(one.shape, x(p[0]), y(p[1]), one.colour, one.points.length > 20 ? 2.5 : 4)));
  }
  // What is set to the same value has one line, with all its names.
  for (const at of new Set(marks.map((mark) => mark.x))) {
    const names = marks.filter((mark) => mark.x === at).map((mark) => mark.label);
    parts.push(svg("path", { class: "line s-c1", "stroke-dasharray": "4 3", d: `M${x(at)} ${height - 44}V42` }),
      svg("text", { class: x(at) < width / 4 ? "small" : x(at) > (3 * width) / 4 ? "small end" : "small mid", x: x(at), y: 38 }, names.length > 3 ? `${names[0]} to ${names.at(-1)}` : names.join(", ")));
  }
  let legend = null;
  if (series.length > 1) legend = key(series, width, height);
  const picture = figure(title, width, height + (legend ? legend.height : 0), svg("g", { class: "plot" }, parts), legend?.element);
  const rows = points.length <= 100 ? series.flatMap((one) => one.points.map((p) => [one.name ?? "", number(p[0]), number(p[1])])) : null;
  return described(picture, rows, ["line", xLabel, yLabel]);
}

/** What colours and shapes mean, below a chart, in as many rows as needed. */
function key(series, width, top) {
  let [x, y] = [12, top + 14];
  const parts = [];
  for (const one of series) {
    const length = 26 + 6.8 * one.name.length;
    if (x > 12 && x + length > width) [x, y] = [12, y + 20];
    parts.push(marker(one.shape, x + 6, y - 4, one.colour), svg("text", { x: x + 16, y }, one.name));
    x += length;
  }
  return { element: svg("g", { class: "legend" }, parts), height: y - top + 8 };
}

/** Points of a pair, coloured by what was set. */
export function scatter(title, groups, xLabel, yLabel) {
  const points = groups.flatMap((group) => group.points);
  const padded = ([low, high]) => [low - 0.04 * (high - low), high + 0.04 * (high - low)];
  const { width, height, x, y, parts } = axes(title, padded(range(points.map((p) => p[0]))), padded(range(points.map((p) => p[1]))), xLabel, yLabel);
  for (const group of groups) {
    const size = points.length > 400 ? 2 : 3;
    parts.push(svg("g", { "fill-opacity": group.colour === "base" ? 0.45 : 0.85 }, group.points.map((p) => marker(group.shape, x(p[0]), y(p[1]), group.colour, size))));
  }
  const legend = key(groups.map((group) => ({ ...group, name: `${group.name} (${group.points.length})` })), width, height);
  return figure(title, width, height + legend.height, svg("g", { class: "plot" }, parts), legend.element);
}
