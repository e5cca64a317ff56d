// What assistive technology cannot tell: controls without a name, tables without heads, pictures that say nothing.
() => {
  const seen = (e) => e.checkVisibility({ visibilityProperty: true });
  const nameOf = (e) => (e.getAttribute("aria-label")
    || (e.getAttribute("aria-labelledby") ?? "").split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ")
    || [...(e.labels ?? [])].map((l) => l.textContent).join(" ")
    || e.getAttribute("alt") || e.textContent || e.getAttribute("title") || "").trim();
  const told = (e) => e.outerHTML.slice(0, 120);
  const wrong = [];
  for (const e of document.querySelectorAll("a, button, input, select, textarea, summary, [role=region], [role=img], img, [tabindex='0'][role]"))
    if (seen(e) && !nameOf(e)) wrong.push(`no name: ${told(e)}`);
  for (const e of document.querySelectorAll("[tabindex='0']"))
    if (seen(e) && !e.getAttribute("role") && e.tagName !== "PRE") wrong.push(`a stop for the keyboard without a role: ${told(e)}`);
  for (const e of document.querySelectorAll("table"))
    if (seen(e) && ![...e.querySelectorAll("thead th")].every((th) => th.scope === "col" && th.textContent.trim())) wrong.push(`a column without a head: ${told(e)}`);
  for (const e of document.querySelectorAll("svg"))
    if (seen(e) && e.getAttribute("aria-hidden") !== "true" && !(e.getAttribute("role") === "img" && e.getAttribute("aria-label")) && !e.closest("[role=img], [role=application]")) wrong.push(`a picture that says nothing: ${told(e)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) wrong.push(`the id ${id} is there twice`);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter(seen).map((h) => Number(h.tagName[1]));
  if (levels.filter((l) => l === 1).length !== 1) wrong.push("not one h1");
  levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) wrong.push(`h${l} follows h${levels[i - 1]}`); });
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
  if (!document.documentElement.lang) wrong.push("no language");
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) wrong.push(`an order of its own: ${told(e)}`);
  return wrong;
}
