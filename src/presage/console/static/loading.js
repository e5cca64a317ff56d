// A file of the user's in; a declaration that fits it, to be changed or taken as it is, and its events in a stream out.

import { get, named, post } from "./api.js";
import { el, errorList, number } from "./dom.js";
import { KEPT } from "./ask.js";

const NEW = "";

// `streams`: the names of those that there are; `loaded` is called when there may be more of them, and gives them.
export function loader(streams, loaded) {
  const file = el("input", { type: "file", id: "file", accept: ".csv,.json,.jsonl,.ndjson,.parquet" });
  const told = el("div", { role: "status", "aria-live": "polite" });
  file.addEventListener("change", () => { if (file.files[0]) offer(file.files[0], streams, told, async () => { streams = await loaded(); }); });
  return el("section", { class: "loader" }, el("h3", {}, "Load a file"),
    el("p", {}, el("label", { for: "file" }, "Events as CSV, JSON or Parquet: "), file), told);
}

async function offer(file, streams, told, loaded) {
  told.replaceChildren(el("p", { class: "soft" }, `Reading ${file.name} …`));
  let found = null, problem = null;
  try {
    found = await post(`/declare?file=${named(file.name)}`, file);
  } catch (failure) {
    if (!failure.errors) throw failure;
    problem = errorList(failure.errors);
    if (!streams.length) { told.replaceChildren(problem); return; }
  }
  // A file that none can be declared for may still hold events of a stream that there is.
  const into = el("select", { id: "into" }, found ? el("option", { value: NEW }, "a new stream") : null,
    ...streams.map((name) => el("option", { value: name }, name)));
  const text = el("textarea", { "aria-label": "Declaration", rows: Math.min(14, (found?.text ?? "").split("\n").length + 1), spellcheck: "false" });
  text.value = found?.text ?? "";
  const declared = el("div", {}, found ? el("ul", { class: "remarks" }, ...found.remarks.map((each) => el("li", {}, each))) : null, text);
  declared.hidden = !found;
  into.addEventListener("change", () => { declared.hidden = into.value !== NEW; });
  const outcome = el("div");
  const go = el("button", { class: "main", onclick: async () => {
    go.disabled = true;
    outcome.replaceChildren(el("p", { class: "soft" }, "Loading …"));
    try {
      outcome.replaceChildren(...(await load(file, into.value, text.value)));
      await loaded();
    } catch (failure) {
      if (!failure.errors) throw failure;
      outcome.replaceChildren(errorList(failure.errors));
    } finally { go.disabled = false; }
  } }, "Load");
  told.replaceChildren(...[problem, declared, el("div", { class: "row" }, el("label", { for: "into" }, "Into "), into, go), outcome].filter(Boolean));
}

async function load(file, into, text) {
  let name = into;
  if (into === NEW) {
    const before = await streamNames();
    await post("/execute", { text, name: "declaration" });
    name = [...(await streamNames())].find((each) => !before.has(each));
    if (name === undefined) return [el("p", {}, "The text declares no stream: nothing was loaded.")];
  }
  const done = await post(`/streams/${named(name)}/file?file=${named(file.name)}`, file);
  const lost = ["late", "rejected"].filter((kind) => done[kind]).map((kind) => `${number(done[kind])} ${kind}`);
  const ask = el("a", { href: "#/ask", onclick: () => localStorage.setItem(KEPT, `SELECT * FROM ${spelled(name)}`) }, `Ask ${name}`);
  return [el("p", {}, `${number(done.accepted)} event${done.accepted === 1 ? "" : "s"} loaded into ${name}${lost.length ? `, ${lost.join(", ")}` : ""}. `, ask)];
}

async function streamNames() {
  return new Set((await get("/catalog")).names.map((each) => each.name));
}

const spelled = (name) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);
