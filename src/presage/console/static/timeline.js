// Rows in, a picture out: what was, is and will be on one axis of time, and the events of each match at their own times.

import { LEFT, RIGHT, WIDTH, axis } from "./axis.js";
import { el, shown, svg } from "./dom.js";
import { clock, millis } from "./times.js";

const LANES = 12, HEIGHT = 12;
// A lane that has room for the names of events, how many matches are drawn so, and how many of them are listed.
const TALL = 24, MATCHES = 60, LISTED = 20;
const LETTER = 7; // the width of one, at most
// Whether the list of matches is open: figures are drawn anew while it is read.
let listed = false;

// The time that a row speaks of: an interval where it has one, or the events of a match.
function spans(names, rows, eventsOf) {
  const [at, from, to] = ["at", "valid_from", "valid_to"].map((name) => names.indexOf(name));
  return rows.map((row, i) => {
    const events = (eventsOf?.(i) ?? []).map(([name, time]) => ({ name, time, at: millis(time) }));
    const begin = Math.min(millis(row[from] ?? row[at]), ...events.map((event) => event.at));
    const end = Number.isNaN(millis(row[to])) ? millis(row[at]) : millis(row[to]);
    return { begin, end: Math.max(begin, Number.isNaN(end) ? begin : end), told: millis(row[at]), row, events };
  }).filter((span) => !Number.isNaN(span.begin));
}

// `eventsOf`: names and times of the events of a row, by its place among the rows; nothing where it has none.
export function timeline(columns, rows, eventsOf) {
  const names = columns.map((column) => column.name);
  let found = spans(names, rows, eventsOf);
  if (!found.length) return null;
  const matched = found.some((span) => span.events.length);
  if (matched) found = found.slice(-MATCHES);
  const low = Math.min(...found.map((span) => span.begin)), high = Math.max(...found.map((span) => span.end), low + 1000);
  const lanes = putInLanes(found, (high - low) / 120);
  const lane = matched ? TALL : HEIGHT, height = 44 + lane * Math.max(1, lanes);
  const [picture, scale] = axis(low, high, height);
  const now = Math.max(...found.map((span) => span.told).filter((time) => !Number.isNaN(time)), low);
  const free = new Array(Math.max(1, lanes)).fill(0); // by lane: up to where a name is written
  for (const span of inOrder(found)) picture.append(...(span.events.length ? match(names, span, scale, lane, free) : [mark(names, span, now, scale, lane)]));
  if (now < high) {
    picture.append(svg("line", { class: "now", x1: scale(now), x2: scale(now), y1: 4, y2: height - 20 }));
    const label = svg("text", { class: "now", x: scale(now) + (scale(now) > WIDTH / 2 ? -4 : 4), y: height - 24, "text-anchor": scale(now) > WIDTH / 2 ? "end" : "start" });
    label.textContent = "now";
    picture.append(label);
  }
  const foretold = found.filter((span) => span.end > now).length;
  const ofEvents = matched ? `, ${found.reduce((sum, span) => sum + span.events.length, 0)} events of them at their own times` : "";
  picture.setAttribute("aria-label", `${found.length} rows on a line of time${ofEvents}, ${foretold} of them reach into the future`);
  const caption = matched ? [key("past", "a match, from its first event to its row"), key("present", "its events, by the names of the pattern")]
    : [key("past", "was"), key("present", "is"), key("future", "is predicted"), "each mark is a row over its validity"];
  return el("figure", {}, picture, el("figcaption", {}, ...caption), matched ? list(found) : null);
}

function mark(names, span, now, scale, lane) {
  const x = Math.min(scale(span.begin), WIDTH - RIGHT - 4), width = Math.max(4, scale(span.end) - x);
  const kind = span.begin > now ? "future" : span.end > now ? "present" : "past";
  return pointed(svg("rect", { class: kind, x: Math.max(LEFT, x), y: 12 + lane * span.lane, width, height: 8, rx: 2 }), () => told(names, span));
}

const told = (names, span) => names.map((name, i) => `${name}: ${shown(span.row[i])}`).join("\n");

// Written when somebody points at it: hundreds of them are drawn twice a second.
function pointed(made, text) {
  made.addEventListener("pointerenter", () => made.append(Object.assign(svg("title"), { textContent: text() })), { once: true });
  return made;
}

// A line from the first event to the row, and the events on it; a name is written where none is, of any match of its lane.
function match(names, span, scale, lane, free) {
  const y = 22 + lane * span.lane, inside = (x) => Math.min(Math.max(x, LEFT), WIDTH - RIGHT - 4);
  const line = pointed(svg("rect", { class: "match", x: inside(scale(span.begin)), y: y - 2, width: Math.max(2, inside(scale(span.end)) - inside(scale(span.begin))), height: 4, rx: 2 }), () => told(names, span));
  return [line, ...span.events.flatMap(({ name, time, at }) => {
    const x = inside(scale(at));
    const dot = pointed(svg("circle", { class: "present event", cx: x.toFixed(1), cy: y, r: 4 }), () => `${name} ${shown(time)}`);
    const wide = LETTER * name.length + 2, left = Math.min(x - 3, WIDTH - wide);
    if (left - 1 < free[span.lane]) return [dot];
    const label = svg("text", { x: left.toFixed(1), y: y - 7, class: "event" });
    label.textContent = name;
    free[span.lane] = left + wide;
    return [dot, label];
  })];
}

// For those who do not see the picture, or want it to the letter.
function list(found) {
  const newest = found.filter((span) => span.events.length).slice(-LISTED).reverse();
  return el("details", { open: listed, ontoggle: (event) => { listed = event.target.open; } }, el("summary", {}, "Show as a list"),
    el("ul", { class: "matches" }, ...newest.map((span) => el("li", {}, span.events.map(({ name, time }) => `${name} ${clock(time)}`).join(", ")))));
}

const inOrder = (found) => [...found].sort((a, b) => a.begin - b.begin);

// Rows that overlap lie below each other; what finds no lane lies on the last one. How many lanes there are.
function putInLanes(found, gap) {
  const ends = [];
  for (const span of inOrder(found)) {
    const free = ends.findIndex((end) => end < span.begin);
    span.lane = free >= 0 ? free : Math.min(ends.length, LANES - 1);
    ends[span.lane] = Math.max(span.end, span.begin + gap);
  }
  return ends.length;
}

export const key = (kind, text) => el("span", { class: `key ${kind}` }, text);
