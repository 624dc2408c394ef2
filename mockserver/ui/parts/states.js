/** Placeholders for empty views and failures. */

import { h } from "../base/dom.js";

/** @param {string} title @param {...any} children */
export function state(title, ...children) {
  return h("div", { class: "state" }, h("h2", null, title), ...children);
}

/** @param {Error} error @param {() => void} [again] */
export function failure(error, again) {
  return state("This failed", h("p", null, error.message), again && h("button", { onclick: again }, "Try again"));
}
