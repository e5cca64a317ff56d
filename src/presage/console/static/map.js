// Objects that foretell their way, on a map: where each is now, how sure that is, and where it will be.

import { every, get, named, pictureOf } from "./api.js";
import { card, el, number, svg, timeCard } from "./dom.js";
import { notice } from "./notice.js";
import { key } from "./timeline.js";
import { millis } from "./times.js";

const EVERY = 1000, WIDTH = 960, EDGE = 30, AHEAD = 20;

export async function mapPage(place, wanted) {
  const maps = await get("/maps");
  place.append(el("h2", {}, "Map"));
  if (!maps.length) {
    place.append(el("p", { class: "soft" }, "No stream predicts positions. Declare one: ", el("code", {}, "CREATE STREAM Cart (cart STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (cart) PREDICTED (x, y)"), "."));
    return undefined;
  }
  const chosen = maps.find((each) => each.name === wanted) ?? maps[0];
  const chooser = el("select", { id: "map", onchange: (event) => { location.hash = `#/map/${named(event.target.value)}`; } },
    ...maps.map((each) => el("option", { value: each.name, selected: each === chosen }, each.name)));
  const cards = el("div", { class: "cards" });
  const plan = await get(`/maps/${named(chosen.name)}/plan`);
  if (plan.image) plan.image = await pictureOf(plan.image);
  const drawn = new Drawn(plan);
  const list = el("details", {}, el("summary", {}, "Show as a list"));
  const told = el("ul", { class: "places" });
  list.append(told);

  async function look() {
    const found = await get(`/maps/${named(chosen.name)}`);
    const now = millis(found.now);
    const shown = found.objects.map((each) => placed(each, now, found.period));
    drawn.show(shown);
    cards.replaceChildren(card(number(shown.length), "objects"), timeCard(found.now, "as of"),
      card(number(shown.filter((each) => each.silent).length), "silent"), card(number(shown.filter((each) => each.moving).length), "moving"));
    const where = (each) => plan.rooms.filter((room) => isIn(room.outline, each.x, each.y)).map((room) => `, in ${room.name}`).join("");
    if (list.open) told.replaceChildren(...shown.map((each) => el("li", {}, `${each.name}: ${chosen.attributes[0]} ${each.x.toFixed(1)}, ${chosen.attributes[1]} ${each.y.toFixed(1)}${where(each)}`)));
  }

  list.addEventListener("toggle", () => look().catch(notice));
  await look();
  place.append(el("div", { class: "row" }, el("label", { for: "map" }, "Stream"), chooser), cards,
    el("figure", {}, drawn.element, el("figcaption", {}, key("present", "position by its last update"), key("future", `predicted position in ${AHEAD} s`), key("past", "no recent update"), "ring: the largest error")), list);
  return every(EVERY, look, notice);
}

// Where an object is at a moment, by what it told last.
function placed(each, now, period) {
  const since = Math.max(0, (now - millis(each.at)) / 1000);
  const holds = period === null ? since : Math.min(since, period);
  const [x, y] = each.values.map((value, i) => value + each.rates[i] * holds);
  const [dx, dy] = each.rates.map((rate) => rate * AHEAD);
  return { name: each.key, x, y, dx, dy, off: Math.max(...each.thresholds), silent: period !== null && since > period, moving: dx !== 0 || dy !== 0 };
}

// The picture stays and its objects move, so that the eye can follow them.
class Drawn {
  // `plan`: rooms and a picture that lie below, in the world's units.
  constructor(plan = { rooms: [], image: null }) {
    this.plan = plan;
    this.element = svg("svg", { class: "map", role: "img" });
    this.ground = svg("g");
    this.floor = svg("g", { class: "floor" });
    this.element.append(this.floor, this.ground);
    this.objects = new Map();
    this.bounds = null;
  }

  show(objects) {
    this.fit(objects);
    const gone = new Set(this.objects.keys());
    for (const each of objects) {
      gone.delete(each.name);
      if (!this.objects.has(each.name)) this.objects.set(each.name, this.made(each));
      this.move(this.objects.get(each.name), each);
    }
    for (const name of gone) { this.objects.get(name).group.remove(); this.objects.delete(name); }
    this.element.setAttribute("aria-label", `${objects.length} objects on a map, ${objects.filter((each) => each.moving).length} of them moving${this.plan.rooms.length ? `, over a plan of ${this.plan.rooms.length} rooms` : this.plan.image ? ", over a plan" : ""}`);
  }

  // Corners of all that lies below.
  corners() {
    const { rooms, image, bounds } = this.plan;
    return [...rooms.flatMap((room) => room.outline), ...(image ? [[bounds[0], bounds[1]], [bounds[2], bounds[3]]] : [])];
  }

  // Bounds only grow: a map that jumps cannot be read.
  fit(objects) {
    const ends = objects.flatMap(({ x, y, dx, dy }) => [[x, y], [x + dx, y + dy]]);
    const known = this.bounds ? [[this.bounds.left, this.bounds.bottom], [this.bounds.right, this.bounds.top]] : [];
    const [xs, ys] = [0, 1].map((i) => [...ends, ...known, ...this.corners()].map((end) => end[i]));
    if (!xs.length) return;
    const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    if (this.bounds && left === this.bounds.left && right === this.bounds.right && bottom === this.bounds.bottom && top === this.bounds.top) return;
    this.bounds = { left, right, bottom, top };
    this.scale = (WIDTH - 2 * EDGE) / Math.max(1e-9, right - left, (top - bottom) * 0.8);
    this.height = Math.max(160, (top - bottom) * this.scale + 2 * EDGE);
    this.element.setAttribute("viewBox", `0 0 ${WIDTH} ${this.height}`);
    this.lay();
    this.grid();
  }

  // The plan, below everything else.
  lay() {
    const { rooms, image, bounds } = this.plan;
    const parts = [];
    if (image) {
      const [[left, top], [right, bottom]] = [this.at(bounds[0], bounds[3]), this.at(bounds[2], bounds[1])];
      parts.push(svg("image", { href: image, x: left, y: top, width: right - left, height: bottom - top, preserveAspectRatio: "none" }));
    }
    for (const { name, outline } of rooms) {
      const points = outline.map(([x, y]) => this.at(x, y));
      const [x, y] = middleOf(points);
      const label = svg("text", { class: "room", x: x.toFixed(1), y: y.toFixed(1), "text-anchor": "middle" });
      label.textContent = name;
      parts.push(svg("polygon", { class: "room", points: points.map((point) => point.map((v) => v.toFixed(1)).join(",")).join(" ") }), label);
    }
    this.floor.replaceChildren(...parts);
  }

  at(x, y) {
    const middle = (WIDTH - (this.bounds.right - this.bounds.left) * this.scale) / 2;
    return [middle + (x - this.bounds.left) * this.scale, this.height - EDGE - (y - this.bounds.bottom) * this.scale];
  }

  grid() {
    const { left, right, bottom, top } = this.bounds;
    const step = 10 ** Math.floor(Math.log10(Math.max(right - left, top - bottom, 1e-9)));
    const spaced = (right - left) / step < 4 ? step / 5 : step / 2;
    const lines = [];
    const label = (x, y, text, anchor) => Object.assign(svg("text", { x, y, "text-anchor": anchor }), { textContent: text });
    for (let x = Math.ceil(left / spaced) * spaced; x <= right; x += spaced) {
      const [px] = this.at(x, 0);
      lines.push(svg("line", { class: "axis", x1: px, x2: px, y1: EDGE - 10, y2: this.height - EDGE + 6 }), label(px, this.height - 8, String(Math.round(x * 1e6) / 1e6), "middle"));
    }
    for (let y = Math.ceil(bottom / spaced) * spaced; y <= top; y += spaced) {
      const [, py] = this.at(0, y);
      lines.push(svg("line", { class: "axis", x1: EDGE - 10, x2: WIDTH - EDGE + 10, y1: py, y2: py }), label(4, py - 3, String(Math.round(y * 1e6) / 1e6), "start"));
    }
    this.ground.replaceChildren(...lines);
  }

  made({ name }) {
    const parts = { ring: svg("circle", { class: "ring" }), way: svg("line", { class: "way" }), dot: svg("circle", { class: "dot", r: 5 }), label: svg("text", { x: 8, y: -7 }) };
    parts.label.textContent = name;
    parts.group = svg("g", { class: "object" }, parts.ring, parts.way, parts.dot, parts.label);
    this.element.append(parts.group);
    return parts;
  }

  move(parts, each) {
    const [x, y] = this.at(each.x, each.y);
    parts.group.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    parts.group.classList.toggle("silent", each.silent);
    parts.ring.setAttribute("r", Math.max(0, each.off * this.scale).toFixed(1));
    parts.way.setAttribute("x2", (each.dx * this.scale).toFixed(1));
    parts.way.setAttribute("y2", (-each.dy * this.scale).toFixed(1));
  }
}

// The centre of gravity of an outline; of one without an area, the middle of its corners.
function middleOf(points) {
  let area = 0, x = 0, y = 0;
  points.forEach(([bx, by], i) => {
    const [ax, ay] = points.at(i - 1), cross = ax * by - bx * ay;
    area += cross;
    x += (ax + bx) * cross;
    y += (ay + by) * cross;
  });
  if (Math.abs(area) < 1e-9) return [0, 1].map((i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
  return [x / (3 * area), y / (3 * area)];
}

// Whether a point lies within an outline: a ray from it crosses the outline an odd number of times.
function isIn(outline, x, y) {
  let inside = false;
  outline.forEach(([bx, by], i) => {
    const [ax, ay] = outline.at(i - 1);
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  });
  return inside;
}

// Rows with x and y in a figure: where they were, the newest strongest.
export function places(columns, rows) {
  const [x, y] = ["x", "y"].map((name) => columns.findIndex((column) => column.name.toLowerCase() === name));
  const found = rows.filter((row) => typeof row[x] === "number" && typeof row[y] === "number");
  if (x < 0 || y < 0 || found.length < 2) return null;
  const drawn = new Drawn();
  drawn.fit(found.map((row) => ({ x: row[x], y: row[y], dx: 0, dy: 0 })));
  found.forEach((row, i) => {
    const [px, py] = drawn.at(row[x], row[y]);
    drawn.element.append(svg("circle", { class: "present", cx: px.toFixed(1), cy: py.toFixed(1), r: 5, opacity: (0.15 + 0.75 * ((i + 1) / found.length)).toFixed(2) }));
  });
  drawn.element.setAttribute("aria-label", `Where ${found.length} rows were`);
  return el("figure", {}, drawn.element, el("figcaption", {}, "Positions of the rows; the newest are the most opaque."));
}
