// One alert: what was told of an event, revision by revision, and past events like it side by side.

import { LEFT, RIGHT, WIDTH, axis } from "./axis.js";
import { every, get, named } from "./api.js";
import { card, el, number, shown, svg, table, timeCard } from "./dom.js";
import { notice } from "./notice.js";
import { sayButtons } from "./saying.js";
import { lasting, millis } from "./times.js";

const OF_OTHERS = /^(rank|similarity|past)/;
const OWN = new Set(["event_id", "at", "revision", "change", "covered_from", "covered_to", "extrapolated"]);

export async function alertPage(place, statement, event) {
  const body = el("div");
  let before = "";

  async function look() {
    const found = await get(`/statements/${named(statement)}/alert?event=${named(event)}`);
    const now = JSON.stringify(found);
    if (now === before) return;
    before = now;
    const rows = found.rows.map((row) => Object.fromEntries(found.columns.map((column, i) => [column.name, row[i]])));
    const names = found.columns.map((column) => column.name).filter((name) => !OWN.has(name));
    body.replaceChildren(...[summary(rows, found.recall), say(found, look), sideBySide(names, rows), covered(rows), revisions(found.columns, rows)].flat().filter(Boolean));
  }

  await look();
  place.append(el("h2", {}, event), el("p", { class: "soft" }, "An event of ", el("a", { href: `#/statement/${named(statement)}` }, statement)), body);
  return every(1000, look, notice);
}

const latest = (rows) => rows.filter((row) => row.revision === rows.at(-1).revision && row.change !== "delete");

function summary(rows, recall) {
  const last = rows.at(-1);
  const span = (millis(last.covered_to) - millis(last.covered_from)) / 1000;
  return el("div", { class: "cards" }, timeCard(last.at, "happened"), card(number(new Set(rows.map((row) => row.revision)).size), "revisions"),
    card(Number.isNaN(span) ? "–" : lasting(span), "of history read"), card(last.extrapolated ? "extrapolated" : "not extrapolated", "figures"),
    card(recall ? recall.state : "done", recall ? `${recall.chunks} of ${recall.of_chunks} chunks read` : "reading history"));
}

function say(found, look) {
  if (!found.recall) return null;
  return el("div", { class: "row" }, el("span", {}, "Its recall is running:"), sayButtons({ event_id: found.event, statement: found.statement }, look));
}

// Past events, the most similar first, beside the present one.
function sideBySide(names, rows) {
  const likes = latest(rows).filter((row) => "rank" in row && "similarity" in row && row.rank !== null).sort((a, b) => a.rank - b.rank);
  if (!likes.length) return null;
  // What all of them have in common is the event's own.
  const own = names.filter((name) => likes.every((row) => JSON.stringify(row[name]) === JSON.stringify(likes[0][name])) && !OF_OTHERS.test(name) && likes.length > 1);
  const others = names.filter((name) => !own.includes(name) && !["rank", "similarity"].includes(name));
  const facts = (row, several) => el("dl", {}, ...several.flatMap((name) => [el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, shown(row[name]) || "–")]));
  return [el("h3", {}, "Has this happened before?"), el("div", { class: "cards wide" },
    own.length ? el("section", { class: "card this", "aria-label": "This event" }, el("b", {}, "This event"), facts(likes[0], own)) : null,
    ...likes.map((row) => el("section", { class: "card", "aria-label": `Past event ${row.rank}` },
      el("b", {}, `${row.rank}. ${Math.floor(row.similarity * 1000) / 10} % alike`),
      el("meter", { min: 0, max: 1, value: row.similarity, "aria-label": "Similarity" }), facts(row, others))))];
}

// How much of history each revision had read, on an axis of time.
function covered(rows) {
  const found = [...new Map(rows.map((row) => [row.revision, row])).values()].map((row) => ({ row, from: millis(row.covered_from), to: millis(row.covered_to) })).filter(({ from, to }) => !Number.isNaN(from) && !Number.isNaN(to));
  if (!found.length) return null;
  const low = Math.min(...found.map(({ from }) => from)), high = Math.max(...found.map(({ to }) => to), low + 1000);
  const height = 40 + 18 * found.length;
  const [picture, scale] = axis(low, high, height);
  found.forEach(({ row, from, to }, i) => {
    const x = scale(from);
    picture.append(svg("rect", { class: row.extrapolated ? "present" : "past", x: Math.max(LEFT, x), y: 12 + 18 * i, width: Math.max(3, Math.min(WIDTH - RIGHT, scale(to)) - x), height: 12, rx: 2 }));
  });
  picture.setAttribute("aria-label", `History read by ${found.length} revisions`);
  return [el("h3", {}, "History read, revision by revision"), el("figure", {}, picture, el("figcaption", {}, el("span", { class: "key present" }, "figures extrapolated to all of it"), el("span", { class: "key past" }, "all of it read")))];
}

function revisions(columns, rows) {
  const first = ["revision", "change", "covered_from", "covered_to"].map((name) => columns.find((column) => column.name === name)).filter(Boolean);
  const order = [...first, ...columns.filter((column) => !OWN.has(column.name))];
  const cells = rows.map((row) => order.map(({ name }) => row[name]));
  return [el("h3", {}, "All revisions"), table(order, cells.reverse(), "Revisions, the newest first")];
}
