// The text of a statement in, what it is out: a word for a board, and what its figures need to know.

const KINDS = [
  ["similar", /\bRECALL\s+SIMILAR\b/i], ["recall", /\bRECALL\b/i], ["prediction", /\bPREDICTED\b/i], ["probability", /\bSEQUENCE\s*\[/i],
  ["match", /\bMATCH_RECOGNIZE\b/i], ["pattern", /\bPATTERN\s*\[|\bSEQ\s*\(/i], ["knowledge", /\bPATH\s*\{|\bPREFIX\b/i],
  ["window", /#\w|\bWINDOW\b/i], ["join", /\bJOIN\b/i],
];

const plain = (text) => text.replace(/--[^\n]*|\/\*[^]*?\*\//g, " ").replace(/'(?:[^'\\]|\\.|'')*'/g, "''");

export function kindOf(text) {
  const without = plain(text);
  return KINDS.find(([, form]) => form.test(without))?.[0] ?? "filter";
}

// Whether it begins at a time that was given, and not when it was deployed.
export const beginsInPast = (text) => /(?<!:)\bWITHIN\s*[[(]\s*['"]?\d{4}-/i.test(text);

export function thresholdOf(text) {
  const found = /\bWITH\s+PROBABILITY\s*>=?\s*([\d.]+)/i.exec(plain(text));
  return found ? Number(found[1]) : null;
}
