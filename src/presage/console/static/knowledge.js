// What is known: things and what is said of them, and which of them the PATHs of statements select.

import { get, named } from "./api.js";
import { el, errorList, number, table } from "./dom.js";
import { kindOf } from "./kinds.js";
import { notice } from "./notice.js";

const PAUSE = 200;
const short = (iri) => iri.split(/[#/]/).filter(Boolean).at(-1) ?? iri;
const thing = (iri) => el("a", { href: `#/knowledge/${named(iri)}`, title: iri }, short(iri));

export async function knowledgePage(place, iri) {
  const [bases, statements] = await Promise.all([get("/knowledge"), get("/statements")]);
  place.append(el("h2", {}, iri ? short(iri) : "Knowledge"));
  if (!bases.length) {
    place.append(el("p", { class: "soft" }, "There is no knowledge base yet. Declare one: ", el("code", {}, "CREATE KNOWLEDGE campus FROM 'campus.ttl' REASONING OWL_RL"), "."));
    return;
  }
  place.append(finder());
  if (iri) { place.append(await about(iri)); return; }
  place.append(el("p", { class: "soft" }, "One graph of ", ...bases.flatMap((base, i) => [i ? ", " : "", el("b", {}, base.name), ` (${base.files.map(short).join(", ")}${base.reasoning ? `, closed under ${base.reasoning.replace("_", " ")}` : ""})`])));
  place.append(el("p", {}, "To see what a query selects before you deploy it, open ", el("a", { href: "#/ask" }, "Ask"), "."));
  for (const statement of statements.filter((each) => kindOf(each.text) === "knowledge" || /PATH\s*\{/.test(each.text))) place.append(await selects(statement.name));
}

function finder() {
  const found = el("ul", { class: "things", "aria-label": "Entities found", "aria-live": "polite" });
  let timer = null;
  const search = async (text) => {
    try {
      const things = text.trim() ? await get(`/knowledge/things?text=${named(text.trim())}&limit=24`) : [];
      found.replaceChildren(...things.map((iri) => el("li", {}, thing(iri))));
    } catch (failure) { notice(failure); }
  };
  const field = el("input", { id: "find", type: "search", size: 30, placeholder: "a room, a sensor, a class", oninput: () => { clearTimeout(timer); timer = setTimeout(() => search(field.value), PAUSE); } });
  return el("div", {}, el("div", { class: "row" }, el("label", { for: "find" }, "Find"), field), found);
}

async function about(iri) {
  try {
    const { facts, named_by: users } = await get(`/knowledge/thing?iri=${named(iri)}`);
    const said = facts.map(([property, value, isThing]) => [el("span", { title: property }, short(property)), isThing ? thing(value) : value]);
    const heard = users.map(([subject, property]) => [thing(subject), el("span", { title: property }, short(property))]);
    return el("div", {}, el("p", { class: "soft" }, el("code", {}, iri)), el("h3", {}, "Facts"), table(["property", "value"], said, "Facts"),
      el("h3", {}, "Referenced by"), heard.length ? table(["thing", "property"], heard, "Referenced by") : el("p", { class: "soft" }, "No entity refers to it."));
  } catch (failure) {
    if (!failure.errors || failure.away) throw failure;
    return errorList(failure.errors);
  }
}

async function selects(name) {
  const found = await get(`/statements/${named(name)}/selects?limit=100`);
  return el("section", {}, el("h3", {}, `What ${name} selects`), el("p", {}, el("a", { href: `#/why/${named(name)}` }, "Why events made no row")), ...solutions(found));
}

// What PATHs select, each with its solutions; things lead to what is known of them.
export function solutions(found) {
  return found.map((each) => el("details", { open: each === found[0] }, el("summary", {}, el("code", {}, each.path), ` ${number(each.total)} solution${each.total === 1 ? "" : "s"}`),
      each.rows.length ? table(each.variables.map((variable) => (each.attributes[variable] ? `${each.attributes[variable]} of events` : variable.replace(/^blank_/, ""))), each.rows.map((row) => row.map((value) => (value && value.includes("://") ? thing(value) : value))), `Solutions of ${each.path}`) : null));
}
