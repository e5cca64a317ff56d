// The live board: every statement, how fast it is, how far behind, what it holds.

import { get, named } from "./api.js";
import { bytes, card, el, notice, number, state } from "./dom.js";

const EVERY = 1000;
const NUMBERS = new Set([2, 3, 4, 6, 7]);
const COLUMNS = ["statement", "state", "rows a second", "rows", "behind", "watermark", "open matches", "holds", "last error"];

export function boardPage(place) {
  const cards = el("div", { class: "cards" });
  const body = el("tbody");
  const head = el("tr", {}, ...COLUMNS.map((name, i) => el("th", { scope: "col", class: NUMBERS.has(i) ? "number" : null }, name)));
  const empty = el("p", { class: "soft" }, "No statement stands yet. ", el("a", { href: "#/ask" }, "Ask something"), " and deploy it.");
  place.append(el("h2", {}, "Standing statements"), cards,
    el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, head), body)), empty);
  const before = new Map();
  let timer = null;

  async function look() {
    try {
      const [statements, streams] = await Promise.all([get("/statements"), get("/streams")]);
      const now = performance.now();
      body.replaceChildren(...statements.map((each) => line(each, rate(before, each, now))));
      empty.hidden = statements.length > 0;
      const sum = (key, list) => list.reduce((total, each) => total + Number(each[key] ?? 0), 0);
      cards.replaceChildren(
        card(number(sum("rows", streams)), "events in the archive"),
        card(number(statements.filter((each) => each.state === "running").length), "statements running"),
        card(number(statements.filter((each) => each.state === "failed").length), "failed"),
        card(number(sum("rejected", streams)), "records rejected"),
        card(number(sum("late", streams)), "events late"));
      document.getElementById("pulse").textContent = `as of ${new Date().toLocaleTimeString()}`;
    } catch (failure) {
      notice(failure);
    }
    timer = setTimeout(look, EVERY);
  }

  look();
  return () => clearTimeout(timer);
}

function rate(before, each, now) {
  const known = before.get(each.name);
  before.set(each.name, { rows: each.rows_out, now });
  return known ? ((each.rows_out - known.rows) * 1000) / (now - known.now) : null;
}

function line(each, speed) {
  const cells = [
    el("a", { href: `#/statement/${named(each.name)}` }, each.name), state(each.state),
    speed === null ? "" : speed.toFixed(speed < 10 ? 1 : 0), number(each.rows_out), number(each.lag), each.watermark ?? "",
    number(each.partial_matches), bytes(each.state_size), each.last_error ?? "",
  ];
  return el("tr", {}, ...cells.map((cell, i) => el("td", { class: NUMBERS.has(i) ? "number" : i === 8 ? "text" : null }, cell)));
}
