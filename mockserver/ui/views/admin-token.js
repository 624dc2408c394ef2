/** The dialog for the admin token, which is kept until the tab is closed. */

import { token } from "../base/api.js";
import { field, h } from "../base/dom.js";

/** @type {HTMLDialogElement | null} */
let open = null;

/** @param {() => void} given called when there is a token to try */
export function askForToken(given) {
  if (open) return;
  const input = h("input", { type: "password", autocomplete: "off", autofocus: true });
  const done = () => {
    token.set(input.value.trim());
    open?.close();
    given();
  };
  open = h("dialog", { "aria-labelledby": "token-title", onclose: () => { open?.remove(); open = null; } },
    h("div", { class: "stack" },
      h("h2", { id: "token-title" }, "Admin token"),
      h("p", { class: "quiet" }, "The admin API of this server needs the token that was set with --admin-token or MOCKSERVER_ADMIN_TOKEN. Without a token, only a server that listens on a loopback address opens it."),
      field("Token", input, token.get() ? "The last one was not accepted." : "It is kept until this tab is closed."),
      h("div", { class: "row" }, h("button", { class: "main", onclick: done }, "Open"), h("button", { onclick: () => open?.close() }, "Cancel")),
    ),
  );
  input.addEventListener("keydown", (event) => event.key === "Enter" && done());
  document.body.append(/** @type {any} */ (open));
  open?.showModal();
}
