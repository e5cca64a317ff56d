// Whether the engine answers: told in the head of the page, and to whoever waits for it.

import { get } from "./api.js";
import { el } from "./dom.js";

const EVERY = 2000, WHILE_WAITING = 500;
let ready = null;
let wake = () => {};

// `onReady` is called when the engine answers again after it did not, or for the first time.
export function watchLink(onReady) {
  const place = document.getElementById("pulse");
  let timer = null;
  async function look() {
    clearTimeout(timer);
    const [kind, text, well] = await told();
    // Only what is new is written: a screen reader reads it aloud.
    if (place.textContent !== text) place.replaceChildren(el("span", { class: `state ${kind}` }, text));
    const back = well && ready === false;
    ready = well;
    if (back) onReady();
    timer = setTimeout(look, well ? EVERY : WHILE_WAITING);
  }
  wake = look;
  look();
}

// Somebody met an engine that does not answer: look at once.
export function lost() {
  if (ready !== false) { ready = false; wake(); }
}

async function told() {
  try {
    const status = await get("/status");
    if (status.state === "starting") return ["warn", `Starting: ${status.doing}`, false];
    if (status.state === "standby") return ["warn", `Standing by: ${status.doing}`, false];
    return status.doing ? ["warn", status.doing, true] : ["good", "Connected", true];
  } catch (failure) {
    if (failure.status === 401) return ["bad", "Not allowed: open the address that presage serve printed", false];
    return ["bad", "No connection; trying again", false];
  }
}
