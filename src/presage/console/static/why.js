// Why events made no row: the newest events of a statement's streams, and which of its conditions they fulfil.

import { every, get, named } from "./api.js";
import { arrange, el, shown } from "./dom.js";
import { kindOf } from "./kinds.js";
import { notice } from "./notice.js";
import { whyEventPage } from "./why_event.js";

const WAITS = "waits for the watermark";
const SHOWN = 50;
// What asks something of several events together that can be told of one of them.
const SEVERAL = ["pattern", "match", "probability"];

export async function whyPage(place, name, number) {
  if (number) return whyEventPage(place, name, number);
  const { text } = await get(`/statements/${named(name)}`);
  const closer = SEVERAL.includes(kindOf(text)) ? (event) => `#/why/${named(name)}/${event.number}` : null;
  const body = el("div");
  const mark = el("p", { class: "soft" });
  const sections = [];

  async function look() {
    const { watermark, streams } = await get(`/statements/${named(name)}/why?limit=400`);
    mark.textContent = watermark ? `The watermark is at ${shown(watermark)}: later events wait for it.` : "There is no watermark yet.";
    streams.forEach((each, i) => {
      if (!sections[i]) { sections[i] = new Asked(each, closer); body.append(sections[i].element); }
      sections[i].show(each);
    });
  }

  await look();
  place.append(el("h2", {}, `Why not? ${name}`), el("p", {}, "The newest events of the input streams of ", el("a", { href: `#/statement/${named(name)}` }, name), ", and which conditions each of them fulfils.", closer ? " Follow the link of an event to see the partial matches that it met." : ""), mark, body);
  return every(2000, look, notice);
}

// What is asked of the events of one stream, with buttons for what came of them.
class Asked {
  // `closer`: the address of what is asked of an event beside others, if something is.
  constructor({ stream, of, columns, conditions }, closer) {
    const heads = ["event time", ...columns, ...conditions, "verdict"];
    Object.assign(this, { columns, closer, wanted: null, rows: new Map() });
    this.chips = el("div", { class: "row", role: "group", "aria-label": `What came of events of ${stream}` });
    this.body = el("tbody");
    this.buttons = new Map();
    const head = el("tr", {}, ...heads.map((text, i) => el("th", { scope: "col", class: i > columns.length && i < heads.length - 1 ? "condition" : null }, text)));
    this.element = el("section", {}, el("h3", {}, of || stream), conditions.length ? null : el("p", { class: "soft" }, "No condition is on a single event."), this.chips,
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Events of ${stream}${of ? `, ${of}` : ""}` }, el("table", {}, el("thead", {}, head), this.body)));
  }

  show({ events }) {
    this.events = events;
    const counts = new Map();
    for (const { verdict } of events) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    // The newest ones always wait; what has come of others says more.
    this.wanted ??= [...counts.keys()].filter((verdict) => verdict !== WAITS || counts.size === 1);
    for (const verdict of counts.keys()) {
      if (this.buttons.has(verdict)) continue;
      const button = el("button", { onclick: () => { this.wanted = this.wanted.includes(verdict) ? this.wanted.filter((each) => each !== verdict) : [...this.wanted, verdict]; this.draw(); } });
      this.buttons.set(verdict, button);
      this.chips.append(button);
    }
    for (const [verdict, button] of this.buttons) button.textContent = `${counts.get(verdict) ?? 0} ${verdict}`;
    this.draw();
  }

  draw() {
    for (const [verdict, button] of this.buttons) button.setAttribute("aria-pressed", String(this.wanted.includes(verdict)));
    const some = this.events.filter((event) => this.wanted.includes(event.verdict)).slice(0, SHOWN);
    // A row stays as long as its verdict: a link in it keeps the focus.
    const kept = new Map(some.map((event) => [`${event.number} ${event.verdict}`, event]));
    this.rows = new Map([...kept].map(([key, event]) => [key, this.rows.get(key) ?? this.row(event)]));
    arrange(this.body, [...this.rows.values()]);
  }

  row(event) {
    const at = shown(event.at);
    const kind = (column, value) => (typeof value === "number" ? "number" : column in event.unknown ? "bad" : null);
    return el("tr", { class: event.verdict === "passes" ? "passes" : null }, el("td", {}, this.closer ? el("a", { href: this.closer(event), title: "Why not? In detail" }, at) : at),
      ...this.columns.map((column, i) => el("td", { class: kind(column, event.values[i]), title: column in event.unknown ? "refers to an unknown entity" : null }, shown(event.values[i]))),
      ...event.holds.map((holds) => el("td", {}, answer(holds))), el("td", {}, verdictOf(event.verdict)));
  }
}

const answer = (holds) => (holds === null ? el("span", { class: "soft" }, "?") : el("span", { class: holds ? "yes" : "no" }, holds ? "✓ yes" : "✗ no"));

const KINDS = { passes: "good", "fails a condition": "", "refers to an unknown entity": "bad", "waits for the watermark": "warn" };
const verdictOf = (text) => el("span", { class: `state ${KINDS[text] ?? ""}` }, text);
