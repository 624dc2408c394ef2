/** The faults card: the armed faults, and the catalogue, from which a click arms a fault. */

import { get, inSpace, post, remove } from "../base/api.js";
import { field, fill, h, select } from "../base/dom.js";
import { tomlLines, tomlValue } from "../base/toml.js";
import { duration } from "../base/format.js";
import { toast, trying } from "../parts/toasts.js";

const LIVES = /** @type {[string, string][]} */ ([["30", "30 seconds"], ["10", "10 seconds"], ["120", "2 minutes"], ["600", "10 minutes"], ["", "until removed"]]);
const TIMES = /** @type {[string, string][]} */ ([["", "every request"], ["1", "the next request"], ["2", "the next two"], ["5", "the next five"]]);
const SHARES = /** @type {[string, string][]} */ ([["", "all of them"], ["0.5", "one in two"], ["0.1", "one in ten"], ["0.01", "one in a hundred"]]);
/** Common faults, armed by one click. */
const EASY = /** @type {[string, any][]} */ ([
  ["Rate limited", { kind: "error", error: "rate_limit", retry_after: 2 }],
  ["Overloaded", { kind: "error", error: "overloaded" }],
  ["Cut after 5 events", { kind: "cut", after_event: 5 }],
  ["Reset after 5 events", { kind: "reset", after_event: 5 }],
  ["Stall for 5 s", { kind: "stall", seconds: 5, after_event: 3 }],
  ["Flaky: one in three fails", { kind: "error", error: "server_error", share: 0.33 }],
]);
const GROUPS = /** @type {[string, (kind: any) => boolean][]} */ ([
  ["Answers", (kind) => !kind.streams && !kind.model && !kind.places.length],
  ["Anywhere in an answer", (kind) => !kind.streams && !kind.model && kind.places.length > 0],
  ["Streams", (kind) => kind.streams],
  ["What the model says", (kind) => kind.model],
]);

/**
 * A fault of the admin API as a config file's table. Without its match, which the server describes only as text.
 * @param {any} fault
 */
function faultTable({ kind, settings, place, chance }) {
  const { start, seconds, share, share_end: end, every, skip, times } = chance;
  const said = (table) => Object.fromEntries(Object.entries(table ?? {}).filter(([, value]) => value !== null && value !== ""));
  return {
    kind, ...said(settings), ...said(place), ...said({ times, from: start || null, for: seconds }),
    ...(every > 1 && { every }), ...(skip > 0 && { skip }), ...(end === null || end === undefined ? share !== 1 && { share } : { share: [share, end] }),
  };
}

/**
 * Whether a fault has a match that is known only in words.
 * @param {Map<string, any>} tables @param {any} fault
 */
function hasOtherMatch(tables, fault) {
  return !tables.has(fault.name) && fault.match !== "anything";
}

export class Faults {
  /** @type {any[]} */
  armed = [];
  /** When this page armed each fault, by name, in milliseconds. @type {Map<string, number>} */
  #since = new Map();
  #shown = "";
  /** The tables of the faults that this page armed. @type {Map<string, any>} */
  #tables = new Map();

  /** @param {any} catalogue @param {() => void} changed */
  constructor(catalogue, changed) {
    this.catalogue = catalogue;
    this.changed = changed;
    this.life = select({}, LIVES);
    this.times = select({}, TIMES);
    this.share = select({}, SHARES);
    this.dialect = select({}, [["", "any dialect"], ...catalogue.dialects.map((each) => /** @type {[string, string]} */ ([each.name, each.name]))]);
    this.place = h("input", { type: "number", min: 0, step: 1, placeholder: "at the beginning" });
    this.list = h("ul", { class: "armed", "aria-label": "Armed faults" });
    this.settings = h("div");
    this.element = h("section", { class: "card stack full", "aria-labelledby": "faults-title" },
      h("header", null, h("h2", { id: "faults-title" }, "Faults"), h("p", null, "a click arms a fault in this namespace, for all further requests")),
      this.list,
      h("div", { class: "pair" }, field("Active", this.life), field("Applied to", this.times), field("Share", this.share), field("Dialect", this.dialect), field("After this many events", this.place)),
      h("h3", { class: "group" }, "Common faults"),
      h("div", { class: "row", role: "group", "aria-label": "Common faults" }, EASY.map(([name, table]) => h("button", { onclick: () => this.#arm(this.#chanced(table), name) }, name))),
      h("h3", { class: "group" }, "Scenarios"),
      h("div", { class: "row", role: "group", "aria-label": "Scenarios" }, catalogue.scenarios.map(({ name, summary }) => h("button", { title: summary, onclick: () => this.#arm(this.#staged(name), name) }, name))),
      this.settings,
      h("details", null, h("summary", null, `All ${catalogue.faults.length} kinds of faults`), GROUPS.map(([name, belongs]) => this.#group(name, belongs))),
    );
  }

  /** @param {string} name @param {(kind: any) => boolean} belongs */
  #group(name, belongs) {
    const kinds = this.catalogue.faults.filter((kind) => !kind.listens && belongs(kind));
    return [h("h3", { class: "group" }, name), h("div", { class: "kinds" }, kinds.map((kind) => h("button", { data: { kind: kind.kind }, onclick: () => this.#choose(kind) }, h("strong", null, kind.kind), h("small", null, kind.summary))))];
  }

  /** Arm a kind without settings at once; ask for the settings of others. @param {any} kind */
  #choose(kind) {
    if (!kind.settings.length) return this.#arm(this.#chanced({ kind: kind.kind, ...this.#placed(kind) }), kind.kind);
    const inputs = kind.settings.map((setting) => ({ setting, control: settingControl(setting) }));
    const arm = h("button", { class: "main" }, `Arm ${kind.kind}`);
    arm.addEventListener("click", async () => {
      const said = Object.fromEntries(inputs.map(({ setting, control }) => [setting.name, valueOf(setting, control)]).filter(([, value]) => value !== undefined));
      if (await this.#arm(this.#chanced({ kind: kind.kind, ...said, ...this.#placed(kind) }), kind.kind)) fill(this.settings);
    });
    fill(this.settings, h("div", { class: "card stack" }, h("h3", null, `${kind.kind}: ${kind.summary}`), h("div", { class: "pair" }, inputs.map(({ setting, control }) => field(setting.name, control, setting.summary))), h("div", { class: "row" }, arm, h("button", { onclick: () => fill(this.settings) }, "Cancel"))));
    this.settings.scrollIntoView({ block: "nearest" });
    inputs[0].control.focus();
  }

  /** @param {any} kind */
  #placed(kind) {
    return this.place.value !== "" && kind.places.includes("after_event") ? { after_event: Number(this.place.value) } : {};
  }

  /** The table with the chance from the fields above. @param {any} table */
  #chanced(table) {
    const number = (control) => (control.value === "" ? undefined : Number(control.value));
    return { ...table, for: number(this.life), times: number(this.times), share: number(this.share) ?? table.share, ...(this.dialect.value && { match: { dialect: this.dialect.value } }) };
  }

  /** The table of a scenario. It has its own course, so only time and dialect of the fields above apply. @param {string} scenario */
  #staged(scenario) {
    const { for: life, match } = this.#chanced({});
    return { scenario, for: life, match };
  }

  /** @param {any} table @param {string} word */
  #arm(table, word) {
    return trying(async () => {
      const base = word.toLowerCase().replace(/[^a-z0-9]+/g, "-");
      const taken = new Set(this.armed.map((each) => each.name));
      let name = base;
      for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
      await post(inSpace("/faults"), { name, ...table });
      this.#since.set(name, Date.now());
      if (table.kind) this.#tables.set(name, table);
      toast(`Armed: ${name}`);
      await this.read();
      this.changed();
      return true;
    });
  }

  async read() {
    this.armed = (await get(inSpace("/faults"))).faults;
    // Keep the focus on a button of the list while only the time changes.
    const shown = JSON.stringify(this.armed);
    if (shown === this.#shown) return this.#tellLeft();
    this.#shown = shown;
    fill(this.list, this.armed.length ? [this.armed.map((fault) => this.#row(fault)), this.armed.length > 1 && h("li", null, h("button", { class: "danger", onclick: () => this.#takeBack("") }, "Remove all"))].flat() : h("li", { class: "quiet" }, "No faults are armed."));
  }

  /** @param {any} fault */
  #row(fault) {
    const { kind, ...rest } = this.#tables.get(fault.name) ?? faultTable(fault);
    const left = this.#left(fault);
    return h("li", { data: { fault: fault.name } },
      h("span", { class: "badge bad" }, kind), h("strong", null, fault.name), h("code", { class: "spread" }, tomlValue(rest), hasOtherMatch(this.#tables, fault) && ` for ${fault.match}`),
      h("span", { class: "badge" }, `applied to ${fault.applied} of ${fault.matched}`), left && h("span", { class: "badge warn" }, left),
      h("button", { onclick: () => this.#takeBack(`/${encodeURIComponent(fault.name)}`), "aria-label": `Remove ${fault.name}` }, "Remove"),
    );
  }

  /** The armed faults, as in a config file. */
  toml() {
    return this.armed.map((fault) => {
      const lines = `[[fault]]\n${tomlLines(this.#tables.get(fault.name) ?? faultTable(fault))}`;
      // Without its match it would be for all requests.
      return hasOtherMatch(this.#tables, fault) ? `\n# Add the match of this fault, ${fault.match}:\n${lines.replace(/^(?=.)/gm, "# ")}` : `\n${lines}`;
    }).join("");
  }

  #tellLeft() {
    for (const [index, fault] of this.armed.entries()) {
      const badge = this.list.children[index].querySelector(".warn");
      if (badge) badge.textContent = this.#left(fault);
    }
    return undefined;
  }

  /** @param {any} fault */
  #left({ name, chance }) {
    if (chance.seconds === null) return null;
    const since = this.#since.get(name);
    if (!since) return `for ${duration(chance.seconds)}`;
    const seconds = chance.seconds - (Date.now() - since) / 1000;
    return seconds > 0 ? `${Math.ceil(seconds)} s left` : "over";
  }

  /** @param {string} which */
  #takeBack(which) {
    return trying(async () => {
      await remove(inSpace(`/faults${which}`));
      await this.read();
      this.changed();
    });
  }
}

/** @param {any} setting */
function settingControl({ choices, type, default: untold }) {
  if (choices.length) return select({}, choices, untold);
  if (type === "text") return h("input", { type: "text", value: untold ?? "" });
  return h("input", { type: "number", step: type === "number" ? "any" : 1, value: untold ?? "", placeholder: "not set" });
}

/** @param {any} setting @param {any} control */
function valueOf({ type }, control) {
  if (control.value === "") return undefined;
  return type === "text" ? control.value : Number(control.value);
}
