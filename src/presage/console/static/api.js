// Requests to the API in, answers out; an error is thrown with the errors that the API told.

export class Refused extends Error {
  constructor(errors, status) {
    super(errors.map((each) => each.message).join("\n"));
    this.errors = errors;
    this.status = status;
  }
}

async function call(method, path, body) {
  const options = { method, headers: {}, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(`/api${path}`, options);
  } catch {
    throw new Refused([{ code: "UNREACHABLE", message: "the console's engine does not answer", fix: "is presage serve running?" }], 0);
  }
  const found = await answer.json();
  if (!answer.ok) throw new Refused(found.errors, answer.status);
  return found;
}

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);
export const remove = (path) => call("DELETE", path);
export const named = (name) => encodeURIComponent(name);

// Rows of a statement as they come; the browser goes on where the line was cut.
export function follow(name, after, onColumns, onRows) {
  const source = new EventSource(`/api/statements/${named(name)}/events?after=${after}`);
  source.addEventListener("columns", (event) => onColumns(JSON.parse(event.data)));
  source.onmessage = (event) => onRows(JSON.parse(event.data), Number(event.lastEventId));
  return () => source.close();
}
