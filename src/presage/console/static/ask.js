// Statements in: checked as they are typed; then asked, explained or deployed.

import { get, post } from "./api.js";
import { el, errorList, number, put, table } from "./dom.js";
import { Editor } from "./editor.js";
import { solutions } from "./knowledge.js";
import { planOf } from "./plan.js";

// Under which the browser keeps what was typed last.
export const KEPT = "presage.text";

export async function askPage(place) {
  const catalog = await get("/catalog");
  const problems = el("div", { role: "status", "aria-live": "polite" });
  const answer = el("div", { role: "region", "aria-label": "Answer", "aria-live": "polite" });
  const editor = new Editor(localStorage.getItem(KEPT) ?? "", catalog, async (text) => {
    localStorage.setItem(KEPT, text);
    if (!text.trim()) { problems.replaceChildren(); return []; }
    const { errors, warnings } = await post("/check", { text });
    problems.replaceChildren(errorList([...errors, ...warnings]));
    problems.classList.remove("stale");
    return errors;
  });
  // What was told of the text before may not hold any more.
  editor.onChange = () => problems.classList.add("stale");
  const name = el("input", { id: "deploy-name", placeholder: "name", "aria-label": "Name of the statement", size: 14 });
  const asked = (run) => async () => {
    answer.replaceChildren(el("p", { class: "soft" }, "Running …"));
    try {
      answer.replaceChildren(...(await run(editor.text)));
    } catch (failure) {
      if (!failure.errors) throw failure;
      answer.replaceChildren(errorList(failure.errors));
    }
  };
  const run = asked(async (text) => {
    const { results, warnings } = await post("/execute", { text });
    const found = results.filter(Boolean);
    editor.catalog = await get("/catalog");
    const told = warnings.length ? [errorList(warnings)] : [];
    return found.length ? [...told, ...found.flatMap(rowsOf)] : [...told, el("p", {}, results.length === 1 ? "Done." : `${number(results.length)} statements executed.`)];
  });
  put(place, el("h2", {}, "Ask"), editor.element, problems,
    el("div", { class: "row" },
      el("button", { class: "main", onclick: run }, "Run"),
      el("button", { onclick: asked(explained) }, "Explain"),
      catalog.knowledge.length ? el("button", { onclick: asked(selected), title: "Which entities the PATHs of the query select" }, "What it selects") : null,
      el("button", { onclick: asked((text) => deployed(text, name.value.trim())) }, "Deploy as"), name,
      el("span", { class: "soft" }, "Ctrl-Enter runs, Ctrl-Space completes")),
    answer, offered(catalog, editor));
  editor.onRun = run;
  editor.focus();
}

function rowsOf({ columns, rows, total, remarks }) {
  const cut = total > rows.length ? `the first ${number(rows.length)} of ${number(total)} rows` : `${number(total)} row${total === 1 ? "" : "s"}`;
  return [table(columns, rows, "Rows"), el("p", { class: "soft" }, cut), ...remarks.map((remark) => el("p", { class: "soft" }, remark))];
}

async function explained(text) {
  const { text: plan, picture } = await post("/explain", { text });
  const drawn = picture && el("figure", {}, el("img", { alt: "The automaton of the query", src: `data:image/svg+xml,${encodeURIComponent(picture)}` }));
  return [drawn, planOf(plan), el("pre", { tabindex: "0" }, plan)].filter(Boolean);
}

// Which rooms and sensors the PATHs of the query select, whatever events come.
async function selected(text) {
  const found = await post("/selects", { text, limit: 100 });
  return found.length ? [el("h3", {}, "What its PATHs select"), ...solutions(found)] : [el("p", { class: "soft" }, "The query has no PATH: it does not use the knowledge bases.")];
}

async function deployed(text, name) {
  const made = await post("/statements", { text, name: name || null });
  location.hash = `#/statement/${encodeURIComponent(made.name)}`;
  return [];
}

// What there is to ask, for those who do not know it by heart; a name is put into the text where there is none yet.
function offered({ names }, editor) {
  const put = (name) => () => { if (!editor.text.trim()) { editor.field.value = `SELECT * FROM ${name}`; editor.changed(false); } editor.focus(); };
  const streams = names.filter((each) => each.kind !== "schema");
  if (!streams.length) return null;
  return el("section", {}, el("h3", {}, "Streams to query"), el("ul", { class: "offered" }, ...streams.map((each) => el("li", {},
    el("button", { onclick: put(each.name), title: `Query ${each.name}` }, each.name), " ",
    el("code", {}, each.attributes.map((a) => `${a.name} ${a.type}`).join(", ")), " ",
    each.uncertain || each.predicted ? el("span", { class: "kind" }, each.uncertain ? "uncertain" : "predicted") : null))));
}
