// One statement: its rows as they come, on a line of time, with their chances; its plan.

import { alertAddress } from "./alerts.js";
import { every, follow, get, named, post, remove } from "./api.js";
import { bytes, card, el, errorList, number, rowOf, state, table, timeCard } from "./dom.js";
import { chances } from "./chances.js";
import { kindOf, thresholdOf } from "./kinds.js";
import { places } from "./map.js";
import { notice } from "./notice.js";
import { planOf } from "./plan.js";
import { timeline } from "./timeline.js";

// Rows that figures are drawn of, and those that the table shows: a browser lays out all of a table for each row that comes.
const MOST = 500, SHOWN = 100;
// Kinds whose rows have events of their own.
const MATCHED = ["pattern", "match"];
// Rows are put in with the next frame; figures are drawn anew less often than that.
const FIGURES = 500;
// More than so many at once, and none of them is made to stand out.
const FEW = 5;

export async function statementPage(place, name) {
  const path = `/statements/${named(name)}`;
  const one = await get(path);
  const cards = el("div", { class: "cards" });
  const figures = el("div");
  const made = table(one.columns, [], "The newest rows");
  const body = made.querySelector("tbody");
  const act = (run) => async () => { try { await run(); await look(); } catch (failure) { notice(failure); } };
  const stop = el("button", { onclick: act(() => remove(path)) }, "Stop");
  const resume = el("button", { onclick: act(() => post(`${path}/resume`)) }, "Resume");
  const none = el("p", { class: "soft" }, "No rows yet.");

  async function look() {
    const now = await get(path);
    cards.replaceChildren(
      el("div", { class: "card" }, el("b", {}, state(now.state)), el("span", { class: now.last_error ? "bad" : null }, now.last_error ?? kindOf(one.text))),
      card(number(now.rows_out), "rows"), card(number(now.lag), "events behind"), timeCard(now.watermark, "watermark"),
      card(number(now.partial_matches), "open matches"), card(bytes(now.state_size), "state"));
    stop.hidden = ["stopped", "finished"].includes(now.state);
    resume.hidden = now.state !== "failed";
    return now;
  }

  const first = await look();
  place.append(el("h2", {}, name), ...(one.warnings.length ? [errorList(one.warnings)] : []), cards, el("div", { class: "row" }, stop, resume, el("a", { href: `#/why/${named(name)}` }, "Why did events make no row?")), figures, el("h3", {}, `The newest rows, up to ${SHOWN}`), none, made,
    el("details", {}, el("summary", {}, "Text and plan"), el("pre", { tabindex: "0" }, one.text), planOf(one.explain), el("pre", { tabindex: "0" }, one.explain)));
  const event = one.columns.findIndex((column) => column.name === "event_id");
  const linked = (row) => row.map((value, i) => (i === event && value ? el("a", { href: alertAddress(name, value) }, value) : value));
  const rows = new Newest(body, linked, (all) => {
    none.hidden = all.length > 0;
    figures.replaceChildren(...[timeline(one.columns, all, (i) => matches?.of(rows.next - all.length + i)), chances(one.columns, all, thresholdOf(one.text)), places(one.columns, all)].filter(Boolean));
  });
  const matches = MATCHED.includes(kindOf(one.text)) ? new Matches(path, () => rows.draw(rows.rows)) : null;
  const leave = follow(name, Math.max(0, first.rows_out - MOST), (some, next) => { rows.add(some, next); matches?.want(next); });
  const rest = every(1000, look, notice);
  return () => { leave(); rest(); rows.close(); };
}

// The events of the newest matches, by the number of their row: asked for when rows have come, never twice at a time.
class Matches {
  constructor(path, changed) { Object.assign(this, { path, changed, known: new Map(), next: 0, wanted: 0, asking: false }); }

  of(number) { return this.known.get(number); }

  async want(next) {
    this.wanted = next;
    if (this.asking) return;
    this.asking = true;
    try {
      while (this.next < this.wanted) {
        const { first, events, possible } = await get(`${this.path}/matches?first=${this.next}`);
        events.forEach((each, i) => this.known.set(first + i, each));
        for (const number of [...this.known.keys()].slice(0, -MOST)) this.known.delete(number);
        const before = this.next;
        this.next = Math.max(this.next, first + events.length);
        if (events.length) this.changed();
        if (!possible || this.next === before) break;
        await new Promise((done) => setTimeout(done, FIGURES));
      }
    } catch (failure) { notice(failure); }
    this.asking = false;
  }
}

// Rows in, the newest of them in a table, newest first, and figures of them now and then.
class Newest {
  // `linked`: a row as the table shows it.
  constructor(body, linked, draw) {
    Object.assign(this, { body, linked, draw, rows: [], waiting: [], next: 0, frame: null, timer: null });
  }

  // `next`: the number of the row after these.
  add(some, next) {
    this.next = next;
    this.waiting.push(...some);
    this.frame ??= requestAnimationFrame(() => this.put());
    this.timer ??= setTimeout(() => { this.timer = null; this.draw(this.rows); }, this.rows.length ? FIGURES : 30);
  }

  // What comes within one frame is put in at once, so that a hundred rows a second move nothing twice.
  put() {
    this.frame = null;
    const fresh = this.waiting.slice(-MOST);
    this.waiting = [];
    this.rows = [...this.rows, ...fresh].slice(-MOST);
    const standsOut = this.body.children.length > 0 && fresh.length <= FEW;
    this.body.prepend(...fresh.slice(-SHOWN).reverse().map((row) => rowOf(this.linked(row), standsOut)));
    while (this.body.children.length > SHOWN) this.body.lastChild.remove();
  }

  close() { clearTimeout(this.timer); if (this.frame) cancelAnimationFrame(this.frame); }
}
