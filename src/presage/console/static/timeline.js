// Rows in, pictures out: what was, is and will be on one axis of time; chances as a curve over it.

import { el, svg } from "./dom.js";

const WIDTH = 960, LEFT = 12, RIGHT = 12;
const TIMES = ["at", "valid_from", "valid_to"];

const millis = (value) => (typeof value === "string" ? Date.parse(value) : NaN);

// The time that a row speaks of: an interval where it has one.
function spans(columns, rows) {
  const [at, from, to] = TIMES.map((name) => columns.indexOf(name));
  return rows.map((row) => {
    const begin = millis(row[from] ?? row[at]);
    return { begin, end: Number.isNaN(millis(row[to])) ? begin : millis(row[to]), told: millis(row[at]), row };
  }).filter((span) => !Number.isNaN(span.begin));
}

function axis(low, high, height) {
  const scale = (time) => LEFT + ((time - low) / Math.max(1, high - low)) * (WIDTH - LEFT - RIGHT);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  for (let i = 0; i <= 6; i++) {
    const time = low + ((high - low) * i) / 6, x = scale(time);
    picture.append(svg("line", { class: "axis", x1: x, x2: x, y1: 8, y2: height - 20 }));
    const label = svg("text", { x, y: height - 6, "text-anchor": i === 0 ? "start" : i === 6 ? "end" : "middle" });
    label.textContent = new Date(time).toISOString().slice(high - low > 86_400_000 ? 5 : 11, 19).replace("T", " ");
    picture.append(label);
  }
  return [picture, scale];
}

export function timeline(columns, rows) {
  const found = spans(columns, rows);
  if (!found.length) return null;
  const low = Math.min(...found.map((span) => span.begin)), high = Math.max(...found.map((span) => span.end), low + 1000);
  const lanes = [];
  for (const span of [...found].sort((a, b) => a.begin - b.begin)) {
    const free = lanes.findIndex((end) => end < span.begin);
    span.lane = free >= 0 ? free : lanes.length < 12 ? lanes.length : 11;
    lanes[span.lane] = Math.max(span.end, span.begin + (high - low) / 150);
  }
  const height = 40 + 12 * Math.max(1, lanes.length);
  const [picture, scale] = axis(low, high, height);
  const now = Math.max(...found.map((span) => span.told).filter((time) => !Number.isNaN(time)), low);
  for (const span of found) {
    const x = scale(span.begin), width = Math.max(4, scale(span.end) - x), y = 12 + 12 * span.lane;
    const kind = span.begin > now ? "future" : span.end > now ? "present" : "past";
    const mark = svg("rect", { class: kind, x, y, width, height: 8, rx: 2 });
    mark.append(Object.assign(svg("title"), { textContent: columns.map((name, i) => `${name}: ${JSON.stringify(span.row[i])}`).join("\n") }));
    picture.append(mark);
  }
  if (now < high) picture.append(svg("line", { class: "now", x1: scale(now), x2: scale(now), y1: 4, y2: height - 20 }));
  picture.setAttribute("aria-label", `${found.length} rows on a line of time`);
  return el("figure", {}, picture, el("figcaption", {}, "When rows hold: what was, what is, and what is foretold."));
}

export function chances(columns, rows) {
  const [at, chance] = [columns.indexOf("at"), columns.indexOf("probability")];
  if (at < 0 || chance < 0) return null;
  const points = rows.map((row) => [millis(row[at]), Number(row[chance])]).filter(([time, p]) => !Number.isNaN(time) && p >= 0);
  if (points.length < 2) return null;
  points.sort((a, b) => a[0] - b[0]);
  const height = 160, top = 12, bottom = height - 26;
  const [picture, scale] = axis(points[0][0], points.at(-1)[0], height);
  const y = (p) => bottom - p * (bottom - top);
  picture.append(svg("polyline", { class: "curve", points: points.map(([time, p]) => `${scale(time)},${y(p)}`).join(" ") }));
  const least = Math.min(...points.map(([, p]) => p));
  picture.append(svg("line", { class: "limit", x1: LEFT, x2: WIDTH - RIGHT, y1: y(least), y2: y(least) }));
  for (const p of [0, 0.5, 1]) {
    const label = svg("text", { x: LEFT, y: y(p) - 2 });
    label.textContent = String(p);
    picture.append(label);
  }
  picture.setAttribute("aria-label", "Probability over time");
  return el("figure", {}, picture, el("figcaption", {}, "How sure each row is; dashed, the least of them."));
}
