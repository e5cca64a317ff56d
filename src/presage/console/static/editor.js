// A text with colours, errors under their place, and names that are completed. The colours lie behind a plain text field, so that
// keyboards, screen readers and undo work as everywhere.

import { el } from "./dom.js";

const TOKEN = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_][\w]*)|([^])/g;
const WORDS = new Set(`ACCELERATE ADVANCE AFTER ALL ANALYSIS AND APPROXIMATE AS ASSERT BANDWIDTH BEFORE BETWEEN BY CANCEL CASE CAST CONFIDENCE CONTEXT
  CONTINUE CREATE DEFINE DESCRIBE DISTINCT DROP ELSE END ERROR EVENT EVERY EXISTS EXPLAIN FINAL FIRST FROM GROUP HAVING IN INFERENCE INHERITS INSERT
  INTO IS JOIN KEY KNOWLEDGE LAST LIKE LIMIT MARKOV MATCH MATCH_RECOGNIZE MAY MEASURES MODEL MUST NOT NULL ON ONE OR ORDER OUTPUT OVER PARTITION PATH
  PATTERN PER PREDICTED PREFIX PRESENT PROBABILISTIC PROBABILITY RECALL REFRESH RELATION REPLACE ROW ROWS SCHEMA SELECT SEQUENCE SHOW SIMILAR SKIP
  STATEMENT STREAM SUBSET TENTATIVE THEN TIME TO USING VALIDATE VALUES WHEN WHERE WINDOW WITH WITHIN`.split(/\s+/));
const PAUSE = 250;
// Where a statement begins, and where a stream is named.
const BEGINS = /(^|;)\s*$/, NAMES = /\b(FROM|JOIN|INTO|DESCRIBE|OVER)\s+$/i;

export class Editor {
  constructor(text, catalog, check) {
    this.catalog = catalog;
    this.check = check;
    this.errors = [];
    this.onRun = () => {};
    this.onChange = () => {};
    this.colours = el("pre", { "aria-hidden": "true" });
    this.field = el("textarea", {
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Statements", "aria-autocomplete": "list", "aria-controls": "choices", rows: "8",
      oninput: () => this.changed(), onkeydown: (event) => this.pressed(event), onscroll: () => this.scrolled(), onblur: () => this.close(),
    });
    this.field.value = text;
    this.choices = el("ul", { class: "choices", id: "choices", role: "listbox", "aria-label": "Completions", hidden: true });
    this.element = el("div", { class: "editor" }, this.colours, this.field, this.choices);
    this.changed(false);
  }

  get text() { return this.field.value; }
  focus() { this.field.focus(); }
  scrolled() { this.colours.scrollTop = this.field.scrollTop; }

  changed(completing = true) {
    this.errors = [];
    this.paint();
    this.onChange();
    clearTimeout(this.timer);
    const text = this.text;
    this.timer = setTimeout(async () => {
      try {
        const errors = await this.check(text);
        if (this.text === text) { this.errors = errors; this.paint(); }
      } catch { /* the page says that the engine does not answer */ }
    }, PAUSE);
    if (completing) this.suggest(2);
  }

  paint() {
    const known = new Set(this.catalog.names.map((each) => each.name));
    const parts = [];
    for (const [token, comment, string, digits, word] of this.text.matchAll(TOKEN)) {
      const kind = comment ? "comment" : string ? "string" : digits ? "number" : word && WORDS.has(word.toUpperCase()) ? "word" : word && known.has(word) ? "name" : null;
      parts.push(kind ? el("span", { class: kind }, token) : token);
    }
    this.colours.replaceChildren(...parts, "\n");
    this.underline();
  }

  // Places are counted in characters as the engine counts them: code points, where JavaScript has UTF-16 units.
  underline() {
    const points = [...this.text];
    const units = (count) => points.slice(0, count).join("").length;
    for (const { start, end } of this.errors) {
      if (start == null) continue;
      this.mark(units(start), Math.max(units(end), units(start) + 1));
    }
  }

  mark(start, end) {
    let place = 0;
    for (const node of [...this.colours.childNodes]) {
      const length = node.textContent.length;
      if (place < end && place + length > start && node.textContent.trim()) {
        if (node.nodeType === Node.TEXT_NODE) node.replaceWith(el("span", { class: "wrong" }, node.textContent));
        else node.classList.add("wrong");
      }
      place += length;
    }
  }

  pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.onRun(); return; }
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.suggest(0); return; }
    if (this.choices.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); this.choose((this.chosen + step + this.found.length) % this.found.length); }
    else if (event.key === "Tab" || event.key === "Enter") { event.preventDefault(); this.take(this.chosen); }
    else if (event.key === "Escape") { event.preventDefault(); this.close(); }
  }

  // Names that begin as the word before the caret does; `least`: how many of its letters must be there.
  suggest(least) {
    const before = this.text.slice(0, this.field.selectionStart);
    const [, owner, begun] = /(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)?$/.exec(before);
    const word = (begun ?? "").toLowerCase();
    if (word.length < least && !owner) { this.close(); return; }
    this.found = this.candidates(owner, before.slice(0, before.length - (begun ?? "").length)).filter(([name]) => name.toLowerCase().startsWith(word) && name.toLowerCase() !== word).slice(0, 30);
    this.begun = (begun ?? "").length;
    if (!this.found.length) { this.close(); return; }
    this.choices.replaceChildren(...this.found.map(([name, kind], i) => el("li", {
      role: "option", id: `choice-${i}`, onmousedown: (event) => { event.preventDefault(); this.take(i); } }, name, el("small", {}, kind))));
    this.place(before);
    this.choices.hidden = false;
    this.choose(0);
  }

  candidates(owner, before) {
    const { names, functions, statements } = this.catalog;
    if (owner) {
      const type = this.typeOf(owner);
      const several = type ? [type] : names;
      return several.flatMap((each) => each.attributes.map((a) => [a.name, a.type]));
    }
    const mentioned = names.filter((each) => new RegExp(`\\b${each.name}\\b`).test(this.text));
    const attributes = (several) => several.flatMap((each) => each.attributes.map((a) => [a.name, `${a.type} of ${each.name}`]));
    const named = [...names.map((each) => [each.name, each.kind]), ...statements.map((name) => [name, "statement"])];
    const words = [...WORDS].map((each) => [each, ""]), called = functions.map((name) => [name, "function"]);
    // SELECT comes before FROM: what no stream of the text has may be of one that is still to be written.
    const columns = [...attributes(mentioned), ...attributes(names)];
    // What the place asks for comes first: a statement begins with a word, a stream follows FROM, and elsewhere columns are meant more often than words.
    const wanted = BEGINS.test(before) ? [words, named, columns] : NAMES.test(before) ? [named, columns, words] : [columns, named, words];
    return [...wanted.flat(), ...called]
      .filter(([name], i, all) => all.findIndex(([other]) => other === name) === i);
  }

  // What an alias or a tag stands for: `Tick AS a`, `Tick#time(5 min) a`, `a=Tick`.
  typeOf(owner) {
    const { names } = this.catalog;
    const direct = names.find((each) => each.name === owner);
    if (direct) return direct;
    return names.find((each) => new RegExp(`\\b${owner}\\s*=\\s*${each.name}\\b|\\b${each.name}\\b(?:\\([^()]*\\))?(?:#\\w+(?:\\([^()]*\\))?)*\\s+(?:AS\\s+)?${owner}\\b`, "i").test(this.text));
  }

  place(before) {
    const lines = before.split("\n");
    const style = getComputedStyle(this.field);
    const height = parseFloat(style.lineHeight);
    this.choices.style.top = `${parseFloat(style.paddingTop) + lines.length * height - this.field.scrollTop}px`;
    this.choices.style.left = `calc(${parseFloat(style.paddingLeft)}px + ${Math.min(lines.at(-1).length - this.begun, 60)}ch)`;
  }

  choose(i) {
    this.chosen = i;
    this.field.setAttribute("aria-activedescendant", `choice-${i}`);
    [...this.choices.children].forEach((child, j) => child.setAttribute("aria-selected", String(i === j)));
    this.choices.children[i]?.scrollIntoView({ block: "nearest" });
  }

  take(i) {
    const at = this.field.selectionStart;
    this.field.setRangeText(this.found[i][0], at - this.begun, at, "end");
    this.close();
    this.changed(false);
  }

  close() {
    this.choices.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }
}
