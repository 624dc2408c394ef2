/** A question before something that cannot be undone. */

import { h } from "../base/dom.js";

/**
 * Asks, and resolves to whether the answer was yes. The Escape key and what has the focus at first mean no.
 * @param {string} question @param {string} consequence @param {string} yes what the button is called that does it
 * @returns {Promise<boolean>}
 */
export function confirmed(question, consequence, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { role: "alertdialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text", onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("form", { class: "stack", method: "dialog" },
        h("h2", { id: "confirm-title" }, question),
        h("p", { id: "confirm-text", class: "quiet" }, consequence),
        h("div", { class: "row" }, h("button", { value: "no", autofocus: true }, "Cancel"), h("button", { class: "danger", value: "yes" }, yes)),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
