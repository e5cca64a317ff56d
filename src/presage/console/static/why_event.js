// Why one event made no row: what it met in the patterns and sequences of a statement, and what failed with which values.

import { get, named } from "./api.js";
import { el, shown } from "./dom.js";

const KINDS = { "takes it": "good", "ends it": "bad", "expired": "warn", "unknown": "warn" };
// Events of a match that are shown; of a longer one the first and the last.
const FEW = 8;

export async function whyEventPage(place, name, number) {
  const { stream, at, values, told } = await get(`/statements/${named(name)}/why/${named(number)}`);
  place.append(el("h2", {}, `Why not? An event of ${stream}`),
    el("p", {}, "The partial matches that it met in ", el("a", { href: `#/statement/${named(name)}` }, name), ". ", el("a", { href: `#/why/${named(name)}` }, "All newest events")),
    el("dl", { class: "event" }, el("dt", {}, "event time"), el("dd", {}, shown(at)), ...Object.entries(values).filter(([, value]) => value !== at).flatMap(([attribute, value]) => [el("dt", {}, attribute), el("dd", {}, shown(value))])),
    ...(told.length ? told.map(section) : [el("p", { class: "soft" }, "The statement has no pattern and no sequence: the page of newest events shows each of its conditions.")]));
}

function section({ what, notes, chances }) {
  return el("section", {}, el("h3", {}, el("code", {}, what)),
    ...(notes.length ? [el("ul", { class: "notes" }, ...notes.map((note) => el("li", {}, worded(note))))] : []),
    chances.length ? el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `What it could have become in ${what}` },
      el("table", { class: "chances" }, el("thead", {}, el("tr", {}, ...["it could have been", "after", "conditions", "outcome"].map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...chances.map(chance)))) : null);
}

function chance({ of: what, so_far: before, answers, outcome, further }) {
  return el("tr", { class: outcome === "takes it" ? "passes" : null }, el("td", { class: "text" }, el("code", {}, what)),
    el("td", { class: "text" }, before.length ? events(before) : el("span", { class: "soft" }, "nothing: it would be the first")),
    el("td", { class: "text" }, answers.length ? el("ul", { class: "answers" }, ...answers.map(answer)) : el("span", { class: "soft" }, "none")),
    el("td", { class: "text" }, el("span", { class: `state ${KINDS[outcome] ?? ""}` }, outcome), further ? el("small", { class: "further" }, worded(further)) : null));
}

function events(before) {
  const some = before.length > FEW ? [before[0], null, ...before.slice(2 - FEW)] : before;
  return el("ol", { class: "events" }, ...some.map((each) => (each === null ? el("li", { class: "soft" }, `… ${before.length - FEW + 1} more`)
    : el("li", {}, el("b", {}, each.name), ` ${shown(each.at)} `, el("span", { class: "soft" }, Object.entries(each.values).map(([attribute, value]) => `${attribute} ${shown(value)}`).join(", "))))));
}

function answer({ text, holds, values }) {
  const mark = holds === null ? "? unknown" : holds ? "✓ yes" : "✗ no";
  return el("li", {}, el("span", { class: holds === null ? "soft" : holds ? "yes" : "no" }, mark), " ", el("code", {}, text),
    values.length ? el("span", { class: "soft" }, ` ${values.map(([term, value]) => `${term} is ${value === null ? "null" : shown(value)}`).join(", ")}`) : null);
}

// Times within a sentence, as people read them.
const worded = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => shown(time));
