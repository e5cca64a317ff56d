// The address in, the page for it out. A page is a function of its place that may return how to leave it.

import { askPage } from "./ask.js";
import { boardPage } from "./board.js";
import { notice } from "./dom.js";
import { statementPage } from "./statement.js";
import { recallsPage, streamsPage } from "./streams.js";

const PAGES = { board: boardPage, ask: askPage, streams: streamsPage, recalls: recallsPage, statement: statementPage };
let leave = null;

async function show() {
  const [name = "board", ...rest] = location.hash.replace(/^#\//, "").split("/").filter(Boolean);
  const page = PAGES[name] ?? boardPage;
  leave?.();
  leave = null;
  const place = document.getElementById("content");
  place.replaceChildren();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    leave = (await page(place, ...rest.map(decodeURIComponent))) ?? null;
  } catch (failure) {
    notice(failure);
  }
}

addEventListener("hashchange", () => { show(); document.getElementById("content").focus(); });
show();
