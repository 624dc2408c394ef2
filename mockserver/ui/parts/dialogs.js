/** Dialogs: a question before something that cannot be undone, and the admin token, which is kept until the tab is closed. */

import { token } from "../base/api.js";
import { field, h } from "../base/dom.js";

/**
 * Opens a dialog, which is gone when it is closed.
 * @param {Record<string, string>} properties @param {(answer: string) => void} closed @param {any} content
 * @returns {HTMLDialogElement}
 */
function opened(properties, closed, content) {
  const dialog = h("dialog", { ...properties, onclose: () => { dialog.remove(); closed(dialog.returnValue); } }, content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks, and resolves to whether the answer was yes. The Escape key and what has the focus at first mean no.
 * @param {string} question @param {string} consequence @param {string} yes what the button is called that does it
 * @returns {Promise<boolean>}
 */
export function confirmed(question, consequence, yes) {
  return new Promise((resolve) => {
    opened({ role: "alertdialog", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text" }, (answer) => resolve(answer === "yes"),
      h("form", { class: "stack", method: "dialog" },
        h("h2", { id: "confirm-title" }, question),
        h("p", { id: "confirm-text", class: "quiet" }, consequence),
        h("div", { class: "row" }, h("button", { value: "no", autofocus: true }, "Cancel"), h("button", { class: "danger", value: "yes" }, yes)),
      ),
    );
  });
}

/** @type {HTMLDialogElement | null} */
let asking = null;

/** @param {() => void} given called when there is a token to try */
export function askForToken(given) {
  if (asking) return;
  const input = h("input", { type: "password", autocomplete: "off", autofocus: true });
  const done = () => {
    token.set(input.value.trim());
    asking?.close();
    given();
  };
  input.addEventListener("keydown", (event) => event.key === "Enter" && done());
  asking = opened({ "aria-labelledby": "token-title" }, () => (asking = null),
    h("div", { class: "stack" },
      h("h2", { id: "token-title" }, "Admin token"),
      h("p", { class: "quiet" }, "The admin API of this server needs the token that was set with --admin-token or MOCKSERVER_ADMIN_TOKEN. Without a token, only a server that listens on a loopback address opens it."),
      field("Token", input, token.get() ? "The last one was not accepted." : "It is kept until this tab is closed."),
      h("div", { class: "row" }, h("button", { class: "main", onclick: done }, "Open"), h("button", { onclick: () => asking?.close() }, "Cancel")),
    ),
  );
}
