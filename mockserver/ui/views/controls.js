/** The controls: settings of the server and of a namespace. Changes can be saved as a config file. */

import { ADMIN, ask, get, getExactly, inSpace, patch, post, space } from "../base/api.js";
import { field, fill, h, select } from "../base/dom.js";
import { tomlLines, tomlValue } from "../base/toml.js";
import { duration } from "../base/format.js";
import { confirmed } from "../parts/dialogs.js";
import { copy, download, toast, trying } from "../parts/toasts.js";
import { Faults } from "./faults.js";
import { Latency } from "./latency.js";

const SERVER = ["seed", "edition", "latency", "speed"];
/** What the others are unless they have been changed. @type {Record<string, any>} */
const USUAL = { cors: "loopback", prompt_cache: false, output_tokens: "off" };
const BEAT = 1000;

export class Controls {
  title = "Controls";
  /** @type {any} */
  #settings = null;
  /** The settings of the namespace alone. @type {Record<string, any>} */
  #own = {};

  /** @param {any} catalogue */
  constructor(catalogue) {
    const changed = () => this.#read();
    this.latency = new Latency(catalogue, changed);
    this.faults = new Faults(catalogue, changed);
    /** The controls of the server's settings, by their names. @type {Record<string, any>} */
    this.fields = {
      seed: h("input", { type: "number", step: 1 }),
      edition: select({}, catalogue.editions),
      speed: h("input", { type: "number", min: 0, step: "any" }),
      output_tokens: h("input", { placeholder: "off, 128, normal(128, 20)", spellcheck: "false" }),
      prompt_cache: select({}, [["false", "off"], ["true", "on: as the vendor caches"]]),
      cors: h("input", { placeholder: "loopback, vendor, any, or origins", spellcheck: "false" }),
    };
    for (const [name, control] of Object.entries(this.fields)) control.addEventListener("change", () => this.#change({ [name]: control.value.trim() || String(USUAL[name] ?? "") }));
    this.clock = h("strong");
    this.own = h("p", { class: "quiet" });
    this.ahead = h("input", { type: "number", min: 0, step: 1, value: "60" });
    this.quotas = h("div");
    this.config = h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "The config" });
    this.element = h("div", { class: "page" }, h("div", { class: "controls" }, this.latency.element, h("div", { class: "cards narrow" }, this.#server(), this.#space(), this.#quotaCard()), this.faults.element, this.#configCard()));
    setInterval(() => !document.hidden && this.element.isConnected && this.#readOften(), BEAT);
  }

  shown() {
    trying(() => this.#read());
  }

  #server() {
    const { seed, edition, speed, output_tokens, prompt_cache, cors } = this.fields;
    return h("section", { class: "card stack", "aria-labelledby": "server-title" },
      h("header", null, h("h2", { id: "server-title" }, "Server"), h("p", null, "for all namespaces")),
      h("div", { class: "pair" }, field("Seed", seed), field("Edition", edition), field("Speed", speed)), h("div", { class: "pair" }, field("Output tokens", output_tokens), field("Prompt cache", prompt_cache), field("CORS", cors)),
    );
  }

  #space() {
    this.spaceTitle = h("h2", { id: "space-title" });
    return h("section", { class: "card stack", "aria-labelledby": "space-title" },
      h("header", null, this.spaceTitle, h("p", null, "its clock is ", this.clock, " ahead")),
      this.own,
      h("div", { class: "ask" }, field("Advance the clock by seconds", this.ahead), h("button", { onclick: () => this.#advance() }, "Advance")),
      h("div", { class: "row" }, h("button", { onclick: () => this.#saveStubs() }, "Save the stubs"), h("small", { class: "quiet" }, "those that were added while the server runs, as a file for --stubs")),
      h("div", { class: "row" }, h("button", { class: "danger", onclick: () => this.#reset() }, "Reset the namespace"), h("small", { class: "quiet" }, "removes stubs and faults, clears counters and the journal")),
    );
  }

  #quotaCard() {
    return h("section", { class: "card", "aria-labelledby": "quota-title" }, h("header", null, h("h2", { id: "quota-title" }, "Quotas"), h("p", null, "what is left of each limit")), this.quotas);
  }

  #configCard() {
    return h("section", { class: "card stack full", "aria-labelledby": "config-title" },
      h("header", null, h("h2", { id: "config-title" }, "As a config file"), h("p", null, "the changes made here, for mockserver serve --config")),
      this.config,
      h("div", { class: "row" }, h("button", { onclick: () => download("mockserver.toml", this.#toml()) }, "Download"), h("button", { onclick: () => copy("The config", this.#toml()) }, "Copy")),
    );
  }

  async #read() {
    const settings = await getExactly(`${ADMIN}/settings`);
    this.#settings = settings;
    for (const [name, control] of Object.entries(this.fields)) if (document.activeElement !== control) control.value = [settings[name]].flat().join(", ");
    this.spaceTitle.textContent = space.name ? `Namespace ${space.name}` : "Default namespace";
    this.#own = space.name ? await getExactly(inSpace("/settings")) : settings.own;
    fill(this.own, Object.keys(this.#own).length > 0 && ["Its own settings go before the server's: ", h("code", null, tomlValue(this.#own))]);
    this.own.hidden = !this.own.hasChildNodes();
    await Promise.all([this.latency.show(settings.latency), this.#readOften()]);
  }

  async #readOften() {
    try {
      await Promise.all([this.faults.read(), this.#readClock(), this.#readQuotas()]);
      const config = this.#toml();
      if (this.config.textContent !== config) this.config.textContent = config;
    } catch {
      // The bar shows that the connection is lost.
    }
  }

  async #readClock() {
    const { ahead } = await get(inSpace("/clock"));
    this.clock.textContent = ahead ? duration(ahead) : "not";
  }

  async #readQuotas() {
    const { limits } = await get(inSpace("/quotas"));
    fill(this.quotas, limits.length ? limits.map(bucket) : h("p", { class: "quiet" }, (this.#own.quota ?? this.#settings?.quota)?.length ? "Nothing is used yet." : "No quotas. Start the server with --quota vendor, or add [quota] to its config file."));
  }

  /** @param {Record<string, unknown>} values */
  #change(values) {
    return trying(async () => {
      try {
        await patch(`${ADMIN}/settings`, values);
        toast(Object.entries(values).map(([name, value]) => `${name}: ${value}`).join(", "));
      } finally {
        // Reset the field of a refused value.
        await this.#read();
      }
    });
  }

  #advance() {
    return trying(async () => {
      await post(inSpace("/clock"), { advance: Number(this.ahead.value) });
      await this.#readOften();
    });
  }

  #saveStubs() {
    return trying(async () => download("stubs.toml", await (await ask("GET", inSpace("/stubs?format=toml"))).text()));
  }

  #reset() {
    return trying(async () => {
      const name = space.name ? `the namespace ${space.name}` : "the default namespace";
      if (!(await confirmed(`Reset ${name}?`, "Its stubs and faults that were added while the server runs, its counters and its journal will be gone.", "Reset"))) return;
      await post(inSpace("/reset"));
      toast("The namespace was reset");
      dispatchEvent(new CustomEvent("anew"));
      await this.#readOften();
    });
  }

  /** The changed settings and the armed faults, as a config file. */
  #toml() {
    const settings = this.#settings ?? {};
    const shown = [...SERVER, ...Object.keys(USUAL).filter((name) => settings[name] !== USUAL[name])];
    return tomlLines(Object.fromEntries(shown.map((name) => [name, settings[name]]))) + this.faults.toml();
  }
}

/** @param {any} limit */
function bucket({ dialect, key, model, limit, amount, remaining, reset }) {
  const name = [dialect, model, key && `key ${key}`].filter(Boolean).join(" · ");
  return h("div", { class: "quota" },
    h("span", null, `${limit} `, h("span", { class: "quiet" }, name)), h("span", { class: "number" }, `${Math.floor(remaining)} of ${amount}`),
    h("progress", { max: amount, value: Math.max(remaining, 0), "aria-label": `${limit}, ${name}: what is left` }),
    h("small", { class: "quiet" }, `full again in ${duration(reset)}`),
  );
}
