// One statement: its rows as they come, on a line of time, with their chances; its plan.

import { follow, get, named, post, remove } from "./api.js";
import { card, el, notice, number, rowOf, state, table, bytes } from "./dom.js";
import { chances, timeline } from "./timeline.js";

const MOST = 500;

export async function statementPage(place, name) {
  const one = await get(`/statements/${named(name)}`);
  const columns = one.columns.map((column) => column.name);
  const cards = el("div", { class: "cards" });
  const figures = el("div");
  const rows = [];
  const made = table(columns, []);
  const body = made.querySelector("tbody");
  const act = (run) => async () => { try { await run(); await look(); } catch (failure) { notice(failure); } };
  place.append(
    el("h2", {}, name), cards,
    el("div", { class: "row" },
      el("button", { onclick: act(() => remove(`/statements/${named(name)}`)) }, "Stop"),
      el("button", { onclick: act(() => post(`/statements/${named(name)}/resume`)) }, "Resume")),
    figures, el("h3", {}, `The newest rows, up to ${MOST}`), made,
    el("details", {}, el("summary", {}, "Text and plan"), el("pre", {}, one.text), el("pre", {}, one.explain)));

  async function look() {
    const now = await get(`/statements/${named(name)}`);
    cards.replaceChildren(
      el("div", { class: "card" }, state(now.state), el("div", { class: "soft" }, now.last_error ?? "")),
      card(number(now.rows_out), "rows"), card(number(now.lag), "events behind"),
      card(now.watermark ?? "nothing known", "watermark"), card(number(now.partial_matches), "open matches"), card(bytes(now.state_size), "state"));
    return now;
  }

  let waiting = [];
  let frame = null;
  function draw() {
    frame = null;
    const fresh = waiting;
    waiting = [];
    rows.push(...fresh);
    rows.splice(0, Math.max(0, rows.length - MOST));
    // Newest first; what comes in one frame is put in at once, so that a hundred rows a second move nothing twice.
    body.prepend(...fresh.slice(-MOST).reverse().map((row) => rowOf(row, true)));
    while (body.children.length > MOST) body.lastChild.remove();
    figures.replaceChildren(...[timeline(columns, rows), chances(columns, rows)].filter(Boolean));
  }

  const first = await look();
  const leave = follow(name, Math.max(0, first.rows_out - MOST), () => {}, (some) => {
    waiting.push(...some);
    frame ??= requestAnimationFrame(draw);
  });
  const timer = setInterval(() => look().catch(notice), 1000);
  return () => { leave(); clearInterval(timer); if (frame) cancelAnimationFrame(frame); };
}
