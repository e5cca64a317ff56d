// Counts at moments in, speeds and a small curve of them out.

import { svg } from "./dom.js";

const KEPT = 40, WIDTH = 90, HEIGHT = 20;

export class Rates {
  constructor() { this.known = new Map(); }

  // The speeds of a count so far, the newest last.
  of(name, count, now) {
    const before = this.known.get(name);
    const speeds = before ? [...before.speeds, Math.max(0, ((count - before.count) * 1000) / Math.max(1, now - before.now))].slice(-KEPT) : [];
    this.known.set(name, { count, now, speeds });
    return speeds;
  }
}

export function sparkline(values) {
  const most = Math.max(1e-9, ...values);
  const at = (value, i) => `${(WIDTH - (values.length - 1 - i) * (WIDTH / (KEPT - 1))).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`;
  // It says no more than the number beside it does.
  return svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, "aria-hidden": "true" },
    svg("polyline", { class: "curve", points: values.map(at).join(" ") }));
}
