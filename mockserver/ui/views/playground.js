/** The playground: a prompt for one dialect, or for two side by side. */

import { h } from "../base/dom.js";
import { Panel } from "./panel.js";

export class Playground {
  title = "Playground";

  /** @param {any} catalogue */
  constructor(catalogue) {
    this.catalogue = catalogue;
    const first = new Panel(catalogue, catalogue.dialects[0].name, "A");
    /** @type {Panel[]} */
    this.panes = [first];
    this.prompt = h("textarea", { id: "prompt", value: "What is the capital of Turkey, and what would you show a guest there?", oninput: () => this.#tell(), onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.#ask() });
    this.send = h("button", { class: "main", onclick: () => this.#ask() }, "Send");
    this.compare = h("button", { "aria-pressed": "false", onclick: () => this.#toggle() }, "Compare two");
    this.both = h("div", { class: "panes" }, first.element);
    this.element = h("div", { class: "page" },
      h("section", { class: "card", "aria-label": "The question" },
        h("div", { class: "ask" },
          h("div", { class: "field" }, h("label", { for: "prompt" }, "Prompt"), this.prompt),
          h("div", { class: "actions" }, this.send, this.compare),
        ),
      ),
      this.both,
    );
    this.#tell();
  }

  #tell() {
    for (const pane of this.panes) pane.question = this.prompt.value;
  }

  async #ask() {
    if (this.send.textContent === "Stop") {
      this.panes.forEach((pane) => pane.stop());
      return;
    }
    this.send.textContent = "Stop";
    await Promise.all(this.panes.map((pane) => pane.ask(this.prompt.value)));
    this.send.textContent = "Send";
  }

  #toggle() {
    const two = this.panes.length === 1;
    if (two) {
      const { dialects } = this.catalogue;
      const second = new Panel(this.catalogue, (dialects[1] ?? dialects[0]).name, "B");
      this.panes.push(second);
      this.both.append(second.element);
    } else {
      const last = this.panes.pop();
      last?.stop();
      last?.element.remove();
    }
    this.both.classList.toggle("two", two);
    this.compare.setAttribute("aria-pressed", String(two));
    this.#tell();
  }
}
