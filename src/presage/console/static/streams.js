// Streams with what they hold, and recalls with what users may say of them.

import { get, post } from "./api.js";
import { el, notice, shown, table } from "./dom.js";

export async function streamsPage(place) {
  const [streams, sources] = await Promise.all([get("/streams"), get("/sources")]);
  place.append(el("h2", {}, "Streams"));
  place.append(streams.length ? listed(streams) : el("p", { class: "soft" }, "No stream is declared yet."));
  if (sources.length) place.append(el("h3", {}, "Sources"), listed(sources));
}

function listed(objects) {
  const columns = Object.keys(objects[0]);
  return table(columns.map((name) => name.replaceAll("_", " ")), objects.map((each) => columns.map((name) => each[name])));
}

const ACTIONS = [["accelerate", "Sooner"], ["continue", "Go on"], ["cancel", "Enough"]];

export function recallsPage(place) {
  const list = el("div");
  let timer = null;
  place.append(el("h2", {}, "Events that read their history"), list);

  async function say(action, recall) {
    try {
      await post(`/recalls/${action}`, { event_id: recall.event_id, statement: recall.statement });
    } catch (failure) {
      notice(failure);
    }
    look();
  }

  async function look() {
    clearTimeout(timer);
    try {
      const recalls = await get("/recalls");
      list.replaceChildren(recalls.length ? openRecalls(recalls, say) : el("p", { class: "soft" }, "No recall is open."));
    } catch (failure) {
      notice(failure);
    }
    timer = setTimeout(look, 1000);
  }

  look();
  return () => clearTimeout(timer);
}

function openRecalls(recalls, say) {
  const columns = Object.keys(recalls[0]);
  const made = table([...columns.map((name) => name.replaceAll("_", " ")), "say"], []);
  const body = made.querySelector("tbody");
  for (const recall of recalls) {
    const buttons = ACTIONS.map(([action, label]) => el("button", {
      "aria-label": `${label}: ${recall.event_id}`, onclick: () => say(action, recall),
    }, label));
    body.append(el("tr", {}, ...columns.map((name) => el("td", {}, shown(recall[name]))), el("td", {}, el("span", { class: "row" }, ...buttons))));
  }
  return made;
}
