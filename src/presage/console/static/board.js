// The live board: every statement, how fast it is, how far behind, what it holds.

import { every, get, named } from "./api.js";
import { Rows, bytes, card, el, number, refill, shown, state } from "./dom.js";
import { beginsInPast, kindOf } from "./kinds.js";
import { notice } from "./notice.js";
import { Rates, sparkline } from "./sparkline.js";

const EVERY = 1000;
const LATELY = 10; // looks
const COLUMNS = ["statement", "kind", "state", "rows/s", "trend", "rows", "events behind", "watermark", "open matches", "state size", "last error"];
const NUMBERS = new Set([3, 5, 6, 8, 9]);

export async function boardPage(place) {
  const cards = el("div", { class: "cards" });
  const body = el("tbody");
  const head = el("tr", {}, ...COLUMNS.map((name, i) => el("th", { scope: "col", class: NUMBERS.has(i) ? "number" : null }, name)));
  const empty = el("p", { class: "soft" }, "No statement is deployed yet. ", el("a", { href: "#/ask" }, "Write a query"), " and deploy it.");
  const whole = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Deployed statements" }, el("table", {}, el("thead", {}, head), body));
  const rates = new Rates();
  const lines = new Rows(body, (each) => each.name, line);

  async function look() {
    const [statements, streams] = await Promise.all([get("/statements"), get("/streams")]);
    const now = performance.now();
    lines.show(statements.map((each) => ({ ...each, speeds: rates.of(each.name, each.rows_out, now) })));
    empty.hidden = statements.length > 0;
    whole.hidden = statements.length === 0;
    const sum = (key, list) => list.reduce((total, each) => total + Number(each[key] ?? 0), 0);
    const among = (word) => statements.filter((each) => each.state === word).length;
    cards.replaceChildren(
      card(number(sum("rows", streams)), "events in the archive"), card(number(among("running")), "statements running"),
      card(number(sum("rows_out", statements)), "rows found"), card(number(among("failed")), "failed"),
      card(number(sum("rejected", streams)), "records rejected"), card(number(sum("late", streams)), "events late"));
  }

  await look();
  place.append(el("h2", {}, "Deployed statements"), cards, whole, empty);
  return every(EVERY, look, notice);
}

function line({ name }) {
  const row = el("tr", {}, el("td", {}, el("a", { href: `#/statement/${named(name)}` }, name)));
  return [row, (each) => {
    const speed = recent(each.speeds);
    const open = each.partial_matches + each.recalls_ready + each.recalls_suspended;
    const cells = [
      kinds(each.text), state(each.state), speed === undefined ? "" : speed.toFixed(speed < 10 ? 1 : 0), sparkline(each.speeds),
      number(each.rows_out), number(each.lag), shown(each.watermark).slice(0, 19), number(open), bytes(each.state_size), each.last_error ?? "",
    ];
    refill(row, cells.map((cell, i) => el("td", { class: NUMBERS.has(i + 1) ? "number" : i === 9 ? "text" : null }, cell)));
  }];
}

// Rows come in batches, and a batch may take seconds: what they are on the whole, not what the last second had.
function recent(speeds) {
  const last = speeds.slice(-LATELY);
  return last.length ? last.reduce((sum, each) => sum + each, 0) / last.length : undefined;
}

const kinds = (text) => el("span", {}, el("span", { class: "kind" }, kindOf(text)), beginsInPast(text) ? el("span", { class: "kind" }, "from the past") : null);
