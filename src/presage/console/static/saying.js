// What people may say of an event's recall.

import { post } from "./api.js";
import { el } from "./dom.js";
import { notice } from "./notice.js";

const ACTIONS = [["accelerate", "Accelerate"], ["continue", "Go on"], ["cancel", "Cancel"]];

export function sayButtons({ event_id, statement }, said = () => {}) {
  return el("span", { class: "row tight" }, ...ACTIONS.map(([action, label]) => el("button", {
    "aria-label": `${label}: ${event_id}`,
    onclick: () => post(`/recalls/${action}`, { event_id, statement }).then(said, notice),
  }, label)));
}
