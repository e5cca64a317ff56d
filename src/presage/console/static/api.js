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

async function call(method, path, body) {
  const options = { method, headers: {}, credentials: "same-origin" };
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

// Rows of a statement as they come, each once, with the number of the row that is next. The browser takes up a line that was cut, but not one that was refused, as by
// an engine that is starting: that we do.
export function follow(name, after, onRows) {
  let next = after, source = null, timer = null;
  const open = () => {
    source = new EventSource(`/api/statements/${named(name)}/events?after=${next}`);
    source.onmessage = (event) => {
      const rows = JSON.parse(event.data), end = Number(event.lastEventId) + 1;
      const fresh = rows.slice(Math.max(0, rows.length - (end - next)));
      next = Math.max(next, end);
      if (fresh.length) onRows(fresh, next);
    };
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN); };
  };
  open();
  return () => { clearTimeout(timer); source.close(); };
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
