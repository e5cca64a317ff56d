// What went wrong, for some seconds. That nobody answers is told in the head of the page.

import { errorList } from "./dom.js";
import { lost } from "./link.js";

const SECONDS = 8;
let timer = null;

export function notice(failure) {
  if (failure.away) { lost(); return; }
  const place = document.getElementById("notice");
  place.replaceChildren(failure.errors ? errorList(failure.errors) : String(failure.message ?? failure));
  clearTimeout(timer);
  timer = setTimeout(() => place.replaceChildren(), SECONDS * 1000);
}
