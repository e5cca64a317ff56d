// Parts of the page. Text of events is only ever text: nothing of it is read as HTML.

import { clock, day, isTime, moment } from "./times.js";

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  return put(made, ...children);
}

// Children that are not there are left out: `append` would write them as "null".
export function put(place, ...children) {
  place.append(...children.filter((child) => child != null));
  return place;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const number = (value) => (value == null ? "" : Number(value).toLocaleString("en"));

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const power = Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${(value / 1024 ** power).toFixed(1)} ${["B", "kB", "MB", "GB", "TB"][power]}`;
}

export function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Math.round(value * 1e6) / 1e6);
  if (isTime(value)) return moment(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// As Arrow calls them, and as the language does.
const NUMBERS = /^(u?int|long|float|double|decimal|halffloat)/i;

// `columns`: names, or columns with the types that the API tells. `label` names the table for those who do not see it.
export function table(columns, rows, label) {
  const head = el("tr", {}, ...columns.map((column) => el("th", { scope: "col", class: NUMBERS.test(column.type ?? "") ? "number" : null }, column.name ?? column)));
  const body = el("tbody");
  for (const row of rows) body.append(rowOf(row));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", {}, el("thead", {}, head), body));
}

export function rowOf(row, fresh = false) {
  return el("tr", fresh ? { class: "fresh" } : {}, ...row.map((value) => {
    const kind = typeof value === "number" ? "number" : typeof value === "string" && value.length > 60 ? "text" : null;
    return el("td", { class: kind }, value instanceof Node ? value : shown(value));
  }));
}

export function card(value, label) {
  return el("div", { class: "card" }, el("b", { class: String(value).length > 10 ? "long" : null }, value), el("span", {}, label));
}

// A card with a time: the clock large, the day beside what it is.
export function timeCard(value, label) {
  return value ? card(clock(value).slice(0, 8), `${label}, ${day(value).slice(5)}`) : card("–", label);
}

const STATES = { running: "good", "catching up": "warn", waiting: "warn", finished: "", stopped: "", failed: "bad" };

export function state(word) {
  return el("span", { class: `state ${STATES[word] ?? ""}` }, word);
}

// Warnings are told in the same way, in another colour.
export function errorList(errors) {
  return el("ul", { class: "errors" }, ...errors.map((each) => el("li", { class: ["warning", "hint"].includes(each.fault) ? "warning" : null },
    el("b", {}, each.code), each.line ? ` line ${each.line}, column ${each.column}: ` : ": ", each.message,
    each.fix ? el("small", {}, each.fix) : null)));
}

// Rows of a table that stay while what they tell changes: a link or a button in one keeps the focus.
export class Rows {
  // `make(item)` gives the row of an item, and a function that brings it up to date.
  constructor(body, keyOf, make) {
    Object.assign(this, { body, keyOf, make, made: new Map() });
  }

  show(items) {
    const gone = new Set(this.made.keys());
    for (const item of items) {
      const key = this.keyOf(item);
      gone.delete(key);
      if (!this.made.has(key)) {
        const [row, update] = this.make(item);
        this.made.set(key, { row, update });
        this.body.append(row);
      }
      this.made.get(key).update(item);
    }
    for (const key of gone) { this.made.get(key).row.remove(); this.made.delete(key); }
  }
}

// Puts elements in their order; those that stay where they are keep the focus.
export function arrange(body, elements) {
  const wanted = new Set(elements);
  for (const child of [...body.children]) if (!wanted.has(child)) child.remove();
  elements.forEach((element, i) => { if (body.children[i] !== element) body.insertBefore(element, body.children[i] ?? null); });
}

// All cells of a row but the first are given anew.
export function refill(row, cells) {
  while (row.children.length > 1) row.lastChild.remove();
  row.append(...cells);
}
