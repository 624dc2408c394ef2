/** The dialog that asks for the admin token, and keeps it for as long as the tab lives. */

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
      h("h2", { id: "token-title" }, "The admin token, please"),
      h("p", { class: "quiet" }, "This server keeps its admin API closed. It was told the token by --admin-token or MOCKSERVER_ADMIN_TOKEN; without one it opens to loopback addresses alone."),
      field("Token", input, token.get() ? "The last one was not accepted." : "It is kept for as long as this tab is open."),
      h("div", { class: "row" }, h("button", { class: "main", onclick: done }, "Open"), h("button", { onclick: () => open?.close() }, "Cancel")),
    ),
  );
  input.addEventListener("keydown", (event) => event.key === "Enter" && done());
  document.body.append(/** @type {any} */ (open));
  open?.showModal();
}
