// A span of time in, an SVG with its axis and the scale of it out.

import { svg } from "./dom.js";

const MOST = 8; // of them: as many as labels that do not overprint
export const WIDTH = 960, LEFT = 14, RIGHT = 14;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

// Ticks at round times.
export function axis(low, high, height) {
  const scale = (time) => LEFT + ((time - low) / Math.max(1, high - low)) * (WIDTH - LEFT - RIGHT);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  const step = STEPS.find((each) => (high - low) / each <= MOST) ?? Math.ceil((high - low) / MOST / STEPS.at(-1)) * STEPS.at(-1);
  for (let time = Math.ceil(low / step) * step; time <= high; time += step) {
    const x = scale(time);
    picture.append(svg("line", { class: "axis", x1: x, x2: x, y1: 8, y2: height - 20 }));
    const label = svg("text", { x, y: height - 6, "text-anchor": x < 40 ? "start" : x > WIDTH - 40 ? "end" : "middle" });
    const iso = new Date(time).toISOString();
    label.textContent = step >= STEPS.at(-1) ? iso.slice(0, 10) : step >= 86_400_000 ? iso.slice(5, 10) : iso.slice(11, step >= 60_000 ? 16 : 19);
    picture.append(label);
  }
  return [picture, scale];
}
