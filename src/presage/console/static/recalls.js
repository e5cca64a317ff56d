// Open recalls, with what users may say of them.

import { every, get, post } from "./api.js";
import { Rows, el, number, shown, table } from "./dom.js";
import { notice } from "./notice.js";

const ACTIONS = [["accelerate", "Sooner"], ["continue", "Go on"], ["cancel", "Enough"]];


export async function recallsPage(place) {
  const heads = ["event", "statement", "state", "read", "found", "covered", "say"];
  const whole = table(heads, [], "Open recalls");
  const none = el("p", { class: "soft" }, "No recall is open.");
  const rows = new Rows(whole.querySelector("tbody"), (each) => `${each.statement}/${each.event_id}`, recallRow);

  async function look() {
    const recalls = await get("/recalls");
    none.hidden = recalls.length > 0;
    whole.hidden = recalls.length === 0;
    rows.show(recalls);
  }

  await look();
  place.append(el("h2", {}, "Events that read their history"), none, whole);
  return every(1000, look, notice);
}

function recallRow(recall) {
  const told = [0, 1, 2, 3, 4].map(() => el("td"));
  const row = el("tr", {}, el("td", {}, recall.event_id), ...told, el("td", {}, sayButtons(recall)));
  return [row, (now) => {
    const texts = [now.statement, now.state, `${now.chunks} of ${now.of_chunks} chunks`, number(now.results), `${shown(now.covered_from)} – ${shown(now.covered_to)}`];
    texts.forEach((text, i) => { told[i].textContent = text; });
  }];
}

// What can be said of an event's recall.
export function sayButtons({ event_id, statement }) {
  return el("span", { class: "row tight" }, ...ACTIONS.map(([action, label]) => el("button", {
    "aria-label": `${label}: ${event_id}`,
    onclick: () => post(`/recalls/${action}`, { event_id, statement }).catch(notice),
  }, label)));
}
