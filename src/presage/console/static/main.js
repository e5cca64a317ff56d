// The address in, the page for it out. A page is a function of its place that may return how to leave it.

import { alertPage } from "./alert.js";
import { alertsPage } from "./alerts.js";
import { askPage } from "./ask.js";
import { boardPage } from "./board.js";
import { el, errorList } from "./dom.js";
import { knowledgePage } from "./knowledge.js";
import { watchLink } from "./link.js";
import { mapPage } from "./map.js";
import { notice } from "./notice.js";
import { statementPage } from "./statement.js";
import { streamsPage } from "./streams.js";
import { whyPage } from "./why.js";

const PAGES = {
  board: boardPage, ask: askPage, map: mapPage, alerts: alertsPage, alert: alertPage, knowledge: knowledgePage, streams: streamsPage,
  statement: statementPage, why: whyPage,
};
// Which entry of the menu a page without one of its own belongs to.
const UNDER = { statement: "board", alert: "alerts", why: "board" };
const PATIENCE = 250;
const content = document.getElementById("content");
let leave = null, turns = 0, waiting = false;

async function show() {
  const [asked, ...rest] = location.hash.replace(/^#\//, "").split("/").filter(Boolean);
  const name = Object.hasOwn(PAGES, asked) ? asked : "board";
  leave?.();
  leave = null;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${UNDER[name] ?? name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  // A place of its own: one that is still waiting for an answer must not write into the next one's.
  const place = el("div");
  const turn = ++turns;
  content.replaceChildren(place);
  const patience = setTimeout(() => { if (!place.childNodes.length) content.prepend(el("p", { class: "soft", id: "loading" }, "Loading …")); }, PATIENCE);
  try {
    const left = await PAGES[name](place, ...rest.map(decodeURIComponent));
    waiting = false;
    if (turn === turns) leave = left ?? null;
    else left?.();
  } catch (failure) {
    if (turn !== turns) { clearTimeout(patience); return; }
    waiting = Boolean(failure.away);
    if (waiting) place.replaceChildren(el("p", { class: "soft waiting" }, "Waiting for the engine …"));
    else if (failure.errors) place.replaceChildren(errorList(failure.errors));
    notice(failure);
  }
  clearTimeout(patience);
  document.getElementById("loading")?.remove();
  document.title = `${place.querySelector("h2")?.textContent ?? "Console"} · Presage`;
}

addEventListener("hashchange", () => {
  // The link past the menu leads to no page.
  if (location.hash.startsWith("#/")) show();
  content.focus();
});
show();
watchLink(() => { if (waiting) show(); });
