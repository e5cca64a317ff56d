// Parts of the page. Text of events is only ever text: nothing of it is read as HTML.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
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
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function table(columns, rows, fresh = false) {
  const head = el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)));
  const body = el("tbody");
  for (const row of rows) body.append(rowOf(row, fresh));
  return el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, head), body));
}

export function rowOf(row, fresh = false) {
  return el("tr", fresh ? { class: "fresh" } : {}, ...row.map((value) => {
    const kind = typeof value === "number" ? "number" : typeof value === "string" && value.length > 60 ? "text" : null;
    return el("td", { class: kind }, shown(value));
  }));
}

export function card(value, label) {
  return el("div", { class: "card" }, el("b", { class: String(value).length > 12 ? "long" : null }, value), el("span", {}, label));
}

const STATES = { running: "good", "catching up": "warn", waiting: "warn", finished: "", stopped: "", failed: "bad" };

export function state(word) {
  return el("span", { class: `state ${STATES[word] ?? ""}` }, word);
}

export function errorList(errors) {
  return el("ul", { class: "errors" }, ...errors.map((each) => el("li", {},
    el("b", {}, each.code), each.line ? ` line ${each.line}, column ${each.column}: ` : ": ", each.message,
    each.fix ? el("small", {}, each.fix) : null)));
}

export function notice(failure) {
  const place = document.getElementById("notice");
  place.replaceChildren(failure.errors ? errorList(failure.errors) : String(failure.message ?? failure));
  clearTimeout(notice.timer);
  notice.timer = setTimeout(() => place.replaceChildren(), 8000);
}
