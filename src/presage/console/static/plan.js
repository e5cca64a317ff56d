// What EXPLAIN says in, the plan drawn out: rows flow upwards, from streams below to the result above.

import { el, svg } from "./dom.js";

const BOX = 250, HIGH = 38, GAP = 18, STEP = 62, LETTERS = 34;
const SECTION = /^== (.+) ==$/;

// The text by its sections.
function sections(text) {
  const found = new Map();
  let lines = [];
  for (const line of text.split("\n")) {
    const head = SECTION.exec(line);
    if (head) found.set(head[1], (lines = []));
    else lines.push(line);
  }
  return found;
}

// Indented lines as a tree.
function treeOf(lines) {
  const root = { children: [], depth: -1 };
  const path = [root];
  for (const line of lines) {
    const depth = line.search(/\S/) / 2;
    if (!line.trim() || line.startsWith("rules:")) continue;
    const [kind, ...rest] = line.trim().split(" ");
    while (path.at(-1).depth >= depth) path.pop();
    const node = { kind, detail: rest.join(" "), depth, children: [] };
    path.at(-1).children.push(node);
    path.push(node);
  }
  return root.children[0] ?? null;
}

// Leaves side by side, every node above the middle of those below it. The nodes, in order.
function placed(root) {
  const nodes = [];
  let leaves = 0, deepest = 0;
  (function place(node, level) {
    nodes.push(node);
    deepest = Math.max(deepest, level);
    node.level = level;
    node.children.forEach((child) => place(child, level + 1));
    node.x = node.children.length ? (node.children[0].x + node.children.at(-1).x) / 2 : leaves++ * (BOX + GAP);
  })(root, 0);
  return { nodes, width: leaves * (BOX + GAP) - GAP, height: deepest * STEP + HIGH };
}

export function planOf(text) {
  const tree = treeOf(sections(text).get("Optimized plan") ?? []);
  if (!tree) return null;
  const { nodes, width, height } = placed(tree);
  const picture = svg("svg", { class: "plan", viewBox: `-8 -8 ${width + 16} ${height + 16}`, width: width + 16, height: height + 16, role: "img" });
  const top = (node) => node.level * STEP;
  for (const node of nodes) {
    for (const child of node.children) picture.append(svg("path", { class: "flow", d: `M ${child.x + BOX / 2} ${top(child)} C ${child.x + BOX / 2} ${top(child) - 14}, ${node.x + BOX / 2} ${top(node) + HIGH + 14}, ${node.x + BOX / 2} ${top(node) + HIGH}` }));
  }
  for (const node of nodes) picture.append(box(node, top(node)));
  picture.setAttribute("aria-label", `The plan: ${nodes.map((node) => node.kind).join(", ")}`);
  return el("figure", {}, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The plan, drawn" }, picture), el("figcaption", {}, "Rows flow upwards; the text below says how each step is executed."));
}

function box({ kind, detail, x, children }, y) {
  const cut = detail.length > LETTERS ? `${detail.slice(0, LETTERS - 1)}…` : detail;
  const label = (text, dy, kind) => Object.assign(svg("text", { x: x + 10, y: y + dy, class: kind }), { textContent: text });
  return svg("g", {}, Object.assign(svg("title"), { textContent: `${kind} ${detail}` }),
    svg("rect", { class: children.length ? "step" : "source", x, y, width: BOX, height: HIGH, rx: 6 }), label(kind, 16, "kind-of"), label(cut, 30, "detail"));
}
