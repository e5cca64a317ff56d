// Streams with what they hold, and the sources that fill them.

import { get } from "./api.js";
import { el, table } from "./dom.js";
import { loader } from "./loading.js";

const WORDS = new Set(["name", "state", "watermark", "source", "text", "why"]);

// What a stream without a source is called where it is declared. It says nothing of where its events are kept: those are in the home.
const NO_SOURCE = "memory", LOADED = "none (loaded)";

export async function streamsPage(place) {
  const known = el("div"), fed = el("div");

  async function look() {
    const [streams, sources] = await Promise.all([get("/streams"), get("/sources")]);
    const shown = streams.map((each) => (each.source === NO_SOURCE ? { ...each, source: LOADED } : each));
    known.replaceChildren(shown.length ? listed(shown, "Streams") : el("p", { class: "soft" }, "No stream is declared yet. ", el("a", { href: "#/ask" }, "Declare one"), ", or choose a file below."));
    fed.replaceChildren(...(sources.length ? [el("h3", {}, "Sources"), listed(sources, "Sources")] : []));
    const { names } = await get("/catalog");
    return names.filter((each) => each.kind === "stream").map((each) => each.name);
  }

  const names = await look();
  place.append(el("h2", {}, "Streams"), known, loader(names, look), fed);
}

export function listed(objects, label) {
  const columns = Object.keys(objects[0]);
  const counts = (name) => !WORDS.has(name) && objects.every((each) => each[name] == null || typeof each[name] === "number" || /^\d+$/.test(each[name]));
  const heads = columns.map((name) => ({ name: name.replaceAll("_", " "), type: counts(name) ? "int64" : "string" }));
  return table(heads, objects.map((each) => columns.map((name) => (counts(name) && each[name] !== null ? Number(each[name]) : each[name]))), label);
}
