// Streams with what they hold, and the sources that fill them.

import { get } from "./api.js";
import { el, table } from "./dom.js";
import { loader } from "./loading.js";

const WORDS = new Set(["name", "state", "watermark", "source", "text", "why"]);

export async function streamsPage(place) {
  const [streams, sources] = await Promise.all([get("/streams"), get("/sources")]);
  place.append(el("h2", {}, "Streams"));
  place.append(streams.length ? listed(streams, "Streams") : el("p", { class: "soft" }, "No stream is declared yet. ", el("a", { href: "#/ask" }, "Declare one"), ", or choose a file below."));
  const chosen = await get("/catalog");
  place.append(loader(chosen.names.filter((each) => each.kind === "stream").map((each) => each.name)));
  if (sources.length) place.append(el("h3", {}, "Sources"), listed(sources, "Sources"));
}

export function listed(objects, label) {
  const columns = Object.keys(objects[0]);
  const counts = (name) => !WORDS.has(name) && objects.every((each) => each[name] == null || typeof each[name] === "number" || /^\d+$/.test(each[name]));
  const heads = columns.map((name) => ({ name: name.replaceAll("_", " "), type: counts(name) ? "int64" : "string" }));
  return table(heads, objects.map((each) => columns.map((name) => (counts(name) && each[name] !== null ? Number(each[name]) : each[name]))), label);
}
