// Rows with a probability in, curves over time out, one for each of whom they speak, and the threshold that was asked for.

import { LEFT, RIGHT, WIDTH, axis } from "./axis.js";
import { el, shown, svg } from "./dom.js";
import { millis } from "./times.js";

const MOST_CURVES = 6, HEIGHT = 190, TOP = 12, BOTTOM = HEIGHT - 26;
const OWN = new Set(["at", "probability", "probability_low", "probability_high", "method", "valid_from", "valid_to", "change"]);
const y = (chance) => BOTTOM - chance * (BOTTOM - TOP);

export function chances(columns, rows, threshold) {
  const names = columns.map((column) => column.name);
  const [at, chance] = [names.indexOf("at"), names.indexOf("probability")];
  if (at < 0 || chance < 0) return null;
  const whose = names.flatMap((name, i) => (OWN.has(name) ? [] : [i]));
  const curves = new Map();
  for (const row of rows) {
    const time = millis(row[at]);
    if (Number.isNaN(time) || row[chance] === null) continue;
    const name = whose.map((i) => shown(row[i])).join(", ");
    if (!curves.has(name)) curves.set(name, []);
    curves.get(name).push([time, Number(row[chance])]);
  }
  const times = [...curves.values()].flat().map(([time]) => time);
  if (times.length < 2) return null;
  // Those of whom most is known.
  const chosen = [...curves].sort((a, b) => b[1].length - a[1].length).slice(0, MOST_CURVES).sort(([a], [b]) => a.localeCompare(b));
  const low = Math.min(...times), high = Math.max(...times);
  const [picture, scale] = axis(low, Math.max(high, low + 1000), HEIGHT);
  for (const level of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(level), y2: y(level) }));
    picture.append(Object.assign(svg("text", { x: LEFT + 2, y: y(level) - 3 }), { textContent: String(level) }));
  }
  chosen.forEach(([, points], i) => picture.append(curve(points, scale, i)));
  if (threshold !== null) {
    picture.append(svg("line", { class: "limit", x1: LEFT, x2: WIDTH - RIGHT, y1: y(threshold), y2: y(threshold) }));
    picture.append(Object.assign(svg("text", { class: "limit", x: WIDTH - RIGHT - 2, y: y(threshold) - 3, "text-anchor": "end" }), { textContent: `threshold: ${threshold}` }));
  }
  picture.setAttribute("aria-label", `Probability over time of ${chosen.map(([name]) => name || "all rows").join("; ")}`);
  const more = curves.size > chosen.length ? `and ${curves.size - chosen.length} more` : "";
  return el("figure", {}, picture, el("figcaption", {}, ...chosen.map(([name], i) => el("span", { class: `key series-${i}` }, name || "probability")), more));
}

function curve(points, scale, i) {
  points.sort((a, b) => a[0] - b[0]);
  const group = svg("g", { class: `series series-${i}` });
  for (const part of unbroken(points)) group.append(svg("polyline", { points: part.map(([time, chance]) => `${scale(time).toFixed(1)},${y(chance).toFixed(1)}`).join(" ") }));
  for (const [time, chance] of points.slice(-60)) group.append(svg("circle", { cx: scale(time), cy: y(chance), r: 2.2 }));
  return group;
}

// Where rows are missing the chance was below what was asked for, or nothing: no line is drawn there.
function unbroken(points) {
  const gaps = points.slice(1).map(([time], i) => time - points[i][0]).sort((a, b) => a - b);
  const usual = gaps[Math.floor(gaps.length / 2)] ?? 0;
  const parts = [];
  for (const point of points) {
    if (!parts.length || point[0] - parts.at(-1).at(-1)[0] > 2.5 * usual) parts.push([]);
    parts.at(-1).push(point);
  }
  return parts.filter((part) => part.length > 1);
}
