// Requests to the API in, answers out; an error is thrown with the errors that the API told.

export class Refused extends Error {
  constructor(errors, status) {
    super(errors.map((each) => each.message).join("\n"));
    this.errors = errors;
    this.status = status;
  }

  // There is no engine to ask, now; later there may be.
  get away() { return ["UNREACHABLE", "STARTING", "ENGINE_CLOSED"].includes(this.errors[0]?.code); }
}

// The token comes in the fragment of the address, which is sent nowhere. It is kept for this port of the host alone, unlike a cookie.
const TOKEN = "presage-token";
const opened = /^#token=(.+)$/.exec(location.hash);
if (opened) {
  localStorage.setItem(TOKEN, decodeURIComponent(opened[1]));
  history.replaceState(null, "", location.pathname);
}
const bearer = () => ({ Authorization: `Bearer ${localStorage.getItem(TOKEN) ?? ""}` });

async function call(method, path, body) {
  const options = { method, headers: bearer() };
  if (body instanceof Blob) {
    options.headers["Content-Type"] = "application/octet-stream";
    options.body = body;
  } else if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer, found;
  try {
    answer = await fetch(`/api${path}`, options);
    found = await answer.json();
  } catch {
    throw new Refused([{ code: "UNREACHABLE", message: "the console's engine does not answer", fix: "is presage serve running?" }], 0);
  }
  if (!answer.ok) throw new Refused(found.errors, answer.status);
  return found;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);
export const remove = (path) => call("DELETE", path);
export const named = (name) => encodeURIComponent(name);

const AGAIN = 1000;

// A picture of the API, as an address for `img`, which sends no token by itself.
export async function pictureOf(address) {
  const answer = await fetch(address, { headers: bearer() });
  return answer.ok ? URL.createObjectURL(await answer.blob()) : null;
}

// Rows of a statement as they come, each once, with the number of the row that is next. A line that was cut, or refused by an engine that is starting, is opened again.
// EventSource would do the same, but sends no token.
export function follow(name, after, onRows) {
  const over = new AbortController();
  let next = after, timer = null;
  const take = (event) => {
    const fields = Object.fromEntries(event.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
    if (fields.id === undefined) return;
    const rows = JSON.parse(fields.data), end = Number(fields.id) + 1;
    const fresh = rows.slice(Math.max(0, rows.length - (end - next)));
    next = Math.max(next, end);
    if (fresh.length) onRows(fresh, next);
  };
  const open = async () => {
    try {
      const answer = await fetch(`/api/statements/${named(name)}/events?after=${next}`, { headers: bearer(), signal: over.signal });
      const reader = answer.ok ? answer.body.pipeThrough(new TextDecoderStream()).getReader() : null;
      let text = "";
      for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
        const events = (text + part.value).split("\n\n");
        text = events.pop();
        events.forEach(take);
      }
    } catch (failure) {
      if (failure instanceof SyntaxError) throw failure;
    }
    if (!over.signal.aborted) timer = setTimeout(open, AGAIN);
  };
  open();
  return () => { clearTimeout(timer); over.abort(); };
}

// Calls `look` again and again, first after a pause; a call that fails because nobody answers is told in the head of the page, others by `failed`.
export function every(millis, look, failed) {
  let timer = null, over = false;
  async function turn() {
    try { await look(); } catch (failure) { failed(failure); }
    if (!over) timer = setTimeout(turn, millis);
  }
  timer = setTimeout(turn, millis);
  return () => { over = true; clearTimeout(timer); };
}
