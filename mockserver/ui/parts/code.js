/** JSON and other code, formatted for reading. */

import { h } from "../base/dom.js";

const PART = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
// Longer texts are not coloured, which would take too long.
const LONGEST = 60_000;

/** A value as indented JSON; a string as it is. @param {unknown} value @param {string} label */
export function code(value, label) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  const colored = typeof value === "string" || text.length > LONGEST ? [text] : [...parts(text)];
  return h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, colored);
}

/** @param {string} text */
function* parts(text) {
  let at = 0;
  for (const match of text.matchAll(PART)) {
    const [all, quoted, colon, word, figure] = match;
    if (quoted && !colon) continue;
    yield text.slice(at, match.index);
    yield h("span", { class: quoted ? "key" : word ? "word" : "figure" }, quoted ?? word ?? figure);
    at = match.index + (quoted ?? all).length;
  }
  yield text.slice(at);
}
