// Times as the API tells them in, times for people out.

export const millis = (value) => (typeof value === "string" ? Date.parse(value) : NaN);

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/;

export const isTime = (value) => typeof value === "string" && TIME.test(value);

// 2024-03-01T09:00:00.500Z -> 2024-03-01 09:00:00.5: the same, easier to read. UTC, as all times here.
export const moment = (value) => value.replace("T", " ").replace(/Z$/, "").replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

export const clock = (value) => moment(value).slice(11);
export const day = (value) => value.slice(0, 10);

// How long: 90 -> 1 min 30 s.
export function lasting(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60]];
  const parts = [];
  let left = Math.max(0, seconds);
  for (const [unit, size] of units) {
    if (left >= size) { parts.push(`${Math.floor(left / size)} ${unit}`); left %= size; }
  }
  if (parts.length < 2 && (left >= 1 || !parts.length)) parts.push(`${left < 10 && !parts.length ? left.toFixed(1) : Math.floor(left)} s`);
  return parts.slice(0, 2).join(" ");
}
