/** Short messages that disappear by themselves, and text for the clipboard. */

import { h } from "../base/dom.js";

/** @param {string} text @param {"good" | "bad"} [kind] */
export function toast(text, kind = "good") {
  const shown = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts")?.append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 8000 : 3000);
}

/** Does something that may fail, and shows a failure. @param {() => Promise<unknown>} work */
export async function trying(work) {
  try {
    return await work();
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "bad");
    return undefined;
  }
}

/** @param {string} what @param {string} text */
export async function copy(what, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  toast(`${what} copied`);
}

/** Copying if a page may not write to the clipboard, as over plain HTTP from another machine. @param {string} text */
function copyBySelection(text) {
  const area = h("textarea", { class: "hidden", value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** @param {string} name @param {string} text */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
