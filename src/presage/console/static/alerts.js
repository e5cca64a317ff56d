// Alerts: events that met their history, the newest of them, and those that still read.

import { every, get, named } from "./api.js";
import { Rows, el, number, refill, shown, table } from "./dom.js";
import { notice } from "./notice.js";
import { sayButtons } from "./saying.js";
import { clock, day, moment } from "./times.js";

const OWN = new Set(["event_id", "at", "revision", "change", "covered_from", "covered_to", "extrapolated"]);

export async function alertsPage(place) {
  const reading = table(["event", "statement", "state", "read", "found", "covered", "commands"], [], "Events whose recall is running");
  const open = new Rows(reading.querySelector("tbody"), (each) => `${each.statement}/${each.event_id}`, openRow);
  const none = el("p", { class: "soft" }, "No recall is open.");
  const newest = table(["event", "statement", "at", "revisions", "result"], [], "The newest alerts");
  const alerts = new Rows(newest.querySelector("tbody"), (each) => `${each.statement}/${each.event_id}`, alertRow);
  const empty = el("p", { class: "soft" }, "No statement with RECALL has produced a row yet.");

  async function look() {
    const [recalls, found] = await Promise.all([get("/recalls"), get("/alerts")]);
    open.show(recalls);
    alerts.show(found);
    [none.hidden, reading.hidden] = [recalls.length > 0, recalls.length === 0];
    [empty.hidden, newest.hidden] = [found.length > 0, found.length === 0];
  }

  await look();
  place.append(el("h2", {}, "Alerts"), el("h3", {}, "Events whose recall is running"), none, reading, el("h3", {}, "The newest"), empty, newest);
  return every(1000, look, notice);
}

export const alertAddress = (statement, event) => `#/alert/${named(statement)}/${named(event)}`;

// To the second; the day once, if it is one.
function span(from, to) {
  if (!from || !to) return "";
  return `${moment(from).slice(0, 19)} – ${day(from) === day(to) ? clock(to).slice(0, 8) : moment(to).slice(0, 19)}`;
}

function openRow(recall) {
  const told = [0, 1, 2, 3, 4].map(() => el("td"));
  const row = el("tr", {}, el("td", {}, el("a", { href: alertAddress(recall.statement, recall.event_id) }, recall.event_id)), ...told, el("td", {}, sayButtons(recall)));
  return [row, (now) => {
    const texts = [now.statement, now.state, `${now.chunks} of ${now.of_chunks} chunks`, number(now.results), span(now.covered_from, now.covered_to)];
    texts.forEach((text, i) => { told[i].textContent = text; });
  }];
}

function alertRow({ statement, event_id }) {
  const row = el("tr", {}, el("td", {}, el("a", { href: alertAddress(statement, event_id) }, event_id)));
  return [row, (now) => {
    const says = Object.entries(now.row).filter(([name, value]) => !OWN.has(name) && value !== null).map(([name, value]) => `${name} ${shown(value)}`).join(", ");
    refill(row, [statement, shown(now.at), String((now.revision ?? 0)), says].map((text, i) => el("td", { class: i === 3 ? "text" : null }, text)));
  }];
}
