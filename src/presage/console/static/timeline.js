// Rows in, a picture out: what was, is and will be on one axis of time.

import { LEFT, RIGHT, WIDTH, axis } from "./axis.js";
import { el, shown, svg } from "./dom.js";
import { millis } from "./times.js";

const LANES = 12, HEIGHT = 12;

// The time that a row speaks of: an interval where it has one.
function spans(names, rows) {
  const [at, from, to] = ["at", "valid_from", "valid_to"].map((name) => names.indexOf(name));
  return rows.map((row) => {
    const begin = millis(row[from] ?? row[at]);
    return { begin, end: Number.isNaN(millis(row[to])) ? begin : millis(row[to]), told: millis(row[at]), row };
  }).filter((span) => !Number.isNaN(span.begin));
}

export function timeline(columns, rows) {
  const names = columns.map((column) => column.name);
  const found = spans(names, rows);
  if (!found.length) return null;
  const low = Math.min(...found.map((span) => span.begin)), high = Math.max(...found.map((span) => span.end), low + 1000);
  const lanes = putInLanes(found, (high - low) / 120);
  const height = 44 + HEIGHT * Math.max(1, lanes);
  const [picture, scale] = axis(low, high, height);
  const now = Math.max(...found.map((span) => span.told).filter((time) => !Number.isNaN(time)), low);
  for (const span of found) picture.append(mark(names, span, now, scale));
  if (now < high) {
    picture.append(svg("line", { class: "now", x1: scale(now), x2: scale(now), y1: 4, y2: height - 20 }));
    const label = svg("text", { class: "now", x: scale(now) + (scale(now) > WIDTH / 2 ? -4 : 4), y: height - 24, "text-anchor": scale(now) > WIDTH / 2 ? "end" : "start" });
    label.textContent = "now";
    picture.append(label);
  }
  const foretold = found.filter((span) => span.end > now).length;
  picture.setAttribute("aria-label", `${found.length} rows on a line of time, ${foretold} of them reach into the future`);
  return el("figure", {}, picture, el("figcaption", {}, key("past", "was"), key("present", "is"), key("future", "is foretold"), "each mark is a row, from when to when it holds"));
}

function mark(names, span, now, scale) {
  const x = Math.min(scale(span.begin), WIDTH - RIGHT - 4), width = Math.max(4, scale(span.end) - x);
  const kind = span.begin > now ? "future" : span.end > now ? "present" : "past";
  const made = svg("rect", { class: kind, x: Math.max(LEFT, x), y: 12 + HEIGHT * span.lane, width, height: 8, rx: 2 });
  // Written when somebody points at it: hundreds of them are drawn twice a second.
  made.addEventListener("pointerenter", () => made.append(Object.assign(svg("title"), { textContent: names.map((name, i) => `${name}: ${shown(span.row[i])}`).join("\n") })), { once: true });
  return made;
}

// Rows that overlap lie below each other; what finds no lane lies on the last one. How many lanes there are.
function putInLanes(found, gap) {
  const ends = [];
  for (const span of [...found].sort((a, b) => a.begin - b.begin)) {
    const free = ends.findIndex((end) => end < span.begin);
    span.lane = free >= 0 ? free : Math.min(ends.length, LANES - 1);
    ends[span.lane] = Math.max(span.end, span.begin + gap);
  }
  return ends.length;
}

export const key = (kind, text) => el("span", { class: `key ${kind}` }, text);
