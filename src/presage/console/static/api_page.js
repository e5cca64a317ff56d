// The description of the API in, a page for people out.

import { get } from "./api.js";
import { el } from "./dom.js";

const { paths } = await get("/openapi.json");
const calls = document.getElementById("calls");
for (const [path, methods] of Object.entries(paths)) {
  for (const [method, call] of Object.entries(methods)) {
    const parameters = (call.parameters ?? []).filter((each) => each.in !== "header").map((each) => el("li", {},
      el("code", {}, each.name), ` (${each.in}${each.required ? ", needed" : ""}) `, each.description ?? ""));
    const schema = call.requestBody?.content?.["application/json"]?.schema?.$ref?.split("/").at(-1);
    calls.append(el("details", {}, el("summary", {}, el("code", {}, `${method.toUpperCase()} ${path}`), ` ${call.description?.split("\n")[0] ?? ""}`),
      call.description ? el("p", {}, call.description) : null,
      parameters.length ? el("ul", {}, ...parameters) : null, schema ? el("p", {}, "Body: ", el("code", {}, schema)) : null));
  }
}
