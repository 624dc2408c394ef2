/** The traffic: all exchanges as they happen, and one of them in detail. */

import { PREFIX, inSpace, remove, space } from "../base/api.js";
import { fill, h, select } from "../base/dom.js";
import { hasLeft, isRefused, isRunning, hasFault, isUnmatched } from "../base/exchanges.js";
import { clockTime, counted, duration, gradeOf, shortened } from "../base/format.js";
import { confirmed } from "../parts/dialogs.js";
import { VirtualList } from "../parts/list.js";
import { state } from "../parts/states.js";
import { trying } from "../parts/toasts.js";
import { Detail } from "./detail.js";

/** @typedef {import("../base/exchanges.js").Line} Line */

const STATUS = /** @type {Record<string, (line: Line) => boolean>} */ ({
  "any status": () => true,
  "2xx": (line) => line.status >= 200 && line.status < 300,
  "4xx": (line) => line.status >= 400 && line.status < 500,
  "5xx": (line) => line.status >= 500,
  "429 only": (line) => line.status === 429,
});
const ONLY = /** @type {Record<string, (line: Line) => boolean>} */ ({
  "all exchanges": () => true,
  "with a fault": hasFault,
  refused: isRefused,
  unmatched: isUnmatched,
  "left by the client": hasLeft,
  "under way": isRunning,
});

export class Traffic {
  title = "Traffic";
  #newest = 0;
  #follow = false;

  /** @param {import("../base/exchanges.js").Exchanges} exchanges @param {string[]} dialects */
  constructor(exchanges, dialects) {
    this.exchanges = exchanges;
    this.detail = new Detail(() => this.#close());
    const changed = () => this.#refresh();
    this.text = h("input", { type: "search", placeholder: "Filter by path, model, prompt, fault…", "aria-label": "Filter by text", oninput: changed });
    this.dialect = select({ "aria-label": "Dialect", onchange: changed }, ["any dialect", ...dialects]);
    this.status = select({ "aria-label": "Status", onchange: changed }, Object.keys(STATUS));
    this.only = select({ "aria-label": "Which exchanges", onchange: changed }, Object.keys(ONLY));
    this.count = h("span", { class: "count", role: "status" });
    this.list = new VirtualList({
      height: 56, label: "Exchanges, newest first", sticky: true, key: (line) => line.number, draw, choose: (line) => this.#choose(line.number),
    });
    this.list.element.addEventListener("scroll", () => this.#tellNewer());
    this.newer = h("button", { class: "main newer", hidden: true, onclick: () => this.list.toTop() });
    this.nothing = h("div");
    this.right = h("div", { class: "right" }, hint());
    this.element = h("div", { class: "traffic" },
      h("section", { class: "left", "aria-label": "Journal" },
        h("div", { class: "filters" },
          h("div", { class: "row" }, h("div", { class: "spread" }, this.text)),
          h("div", { class: "row" }, this.dialect, this.status, this.only),
          h("div", { class: "row apart" }, this.count, h("button", { class: "plain", onclick: () => trying(() => this.#clear()) }, "Clear the journal")),
        ),
        h("div", { class: "list-box" }, this.newer, this.list.element, this.nothing),
      ),
      this.right,
    );
    exchanges.changed = changed;
    addEventListener("replayed", () => (this.#follow = true));
  }

  shown() {
    this.#refresh();
  }

  /** Forget the chosen exchange, for another namespace. */
  leave() {
    this.#close();
    this.#newest = 0;
  }

  #refresh() {
    if (!this.element.isConnected) return;
    const lines = this.exchanges.matching(this.#filter());
    const newest = lines[0]?.number ?? 0;
    this.list.items = lines;
    this.count.textContent = lines.length === this.exchanges.size ? counted(lines.length, "exchange") : `${lines.length.toLocaleString("en")} of ${counted(this.exchanges.size, "exchange")}`;
    this.#tellEmpty(lines.length);
    if (this.#follow && newest > this.#newest) {
      this.#follow = false;
      this.list.toTop();
      this.#choose(newest);
    } else if (this.detail.number !== null) {
      const line = this.exchanges.find(this.detail.number);
      if (line && !isRunning(line)) this.detail.refresh();
    }
    this.#tellNewer();
  }

  #filter() {
    const words = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const dialect = this.dialect.selectedIndex > 0 ? this.dialect.value : null;
    const [status, only] = [STATUS[this.status.value], ONLY[this.only.value]];
    return (/** @type {Line} */ line) => (dialect === null || line.dialect === dialect) && status(line) && only(line) && words.every((word) => haystack(line).includes(word));
  }

  #tellNewer() {
    if (this.list.element.scrollTop <= 4) this.#newest = this.list.items[0]?.number ?? 0;
    const newer = (this.list.items[0]?.number ?? 0) - this.#newest;
    this.newer.hidden = newer <= 0;
    this.newer.textContent = `↑ ${counted(newer, "new exchange")}`;
  }

  /** @param {number} count */
  #tellEmpty(count) {
    this.list.element.hidden = count === 0;
    this.nothing.hidden = count > 0;
    if (count === 0) fill(this.nothing, this.exchanges.size ? state("No matches", h("p", null, `${counted(this.exchanges.size, "exchange")}, but none that the filter shows.`), h("button", { onclick: () => this.#unfilter() }, "Clear the filter")) : empty());
  }

  #unfilter() {
    this.text.value = "";
    for (const each of [this.dialect, this.status, this.only]) each.selectedIndex = 0;
    this.#refresh();
    this.text.focus();
  }

  async #clear() {
    const count = `${counted(this.exchanges.size, "exchange")} of ${space.name ? `the namespace ${space.name}` : "the default namespace"}`;
    if (!(await confirmed("Clear the journal?", `${count} will be forgotten. Stubs and faults stay.`, "Clear"))) return;
    await remove(inSpace("/journal"));
    this.exchanges.replace([]);
    this.#close();
  }

  /** @param {number} number */
  #choose(number) {
    this.list.chosen = number;
    this.element.dataset.open = "";
    if (!this.detail.element.isConnected) fill(this.right, this.detail.element);
    this.right.scrollTop = 0;
    this.detail.open(number);
  }

  #close() {
    delete this.element.dataset.open;
    this.list.chosen = null;
    this.detail.close();
    fill(this.right, hint());
    this.list.element.focus();
  }
}

/** @type {WeakMap<Line, string>} */
const haystacks = new WeakMap();

/** @param {Line} line all of it that can be searched */
function haystack(line) {
  let text = haystacks.get(line);
  if (text === undefined) {
    text = [`#${line.number}`, line.method, line.path, line.dialect, line.operation, line.model, line.status, line.prompt, line.decision.rule, line.decision.kind, ...line.decision.faults].join(" ").toLowerCase();
    haystacks.set(line, text);
  }
  return text;
}

/** @param {Line} line @param {HTMLElement} element */
function draw(line, element) {
  element.className = "exchange";
  const running = isRunning(line);
  fill(element,
    h("span", { class: `badge ${gradeOf(line.status)}` }, line.status),
    h("span", { class: "what" }, line.dialect ? `${line.dialect} ${line.operation ?? ""} ` : "", h("small", null, line.model ?? line.method)),
    h("span", { class: "took" }, running ? clockTime(line.at) : `${duration(line.outcome.seconds)} · ${clockTime(line.at)}`),
    h("span", { class: "said" }, shortened(line.prompt || line.decision.message || line.path, 160)),
    h("span", { class: "marks" }, marks(line)),
    running && progress(line),
  );
}

/** @param {Line} line */
function marks(line) {
  const shown = line.decision.faults.slice(0, 2).map((kind) => h("span", { class: "badge bad" }, kind));
  if (line.decision.kind) shown.push(h("span", { class: "badge warn" }, shortened(line.decision.kind.replaceAll("_", " "), 24)));
  if (line.decision.rule) shown.push(h("span", { class: "badge plan" }, shortened(line.decision.rule, 18)));
  if (line.decision.stale) shown.push(h("span", { class: "badge bad", title: "The answer was recorded for another request" }, "stale"));
  if (hasLeft(line)) shown.push(h("span", { class: "badge warn" }, "left"));
  if (line.decision.unmatched === true) shown.push(h("span", { class: "badge warn" }, "unmatched"));
  if (isRunning(line)) shown.push(h("span", { class: "badge accent" }, "live"));
  else if (line.usage) shown.push(h("span", null, `${line.usage.completion_tokens} tok`));
  return shown;
}

/** How far a running answer should be, according to its plan. @param {Line} line */
function progress(line) {
  const due = Math.max(line.timing.end_due ?? 0, 0.01);
  const elapsed = Math.max(Date.now() / 1000 + line.ahead - line.at, 0);
  return h("span", { class: "progress", style: { "animation-duration": `${due}s`, "animation-delay": `${-Math.min(elapsed, due)}s` } });
}

function hint() {
  return state("Choose an exchange", h("p", null, "Its request, its answer, what decided the answer, and its stream over time appear here."));
}

function empty() {
  const command = `curl -N ${location.origin}${PREFIX}${space.name && `/ns/${encodeURIComponent(space.name)}`}/cerebras/v1/completions \\\n  -H "Authorization: Bearer any-key" -H "Content-Type: application/json" \\\n  -d '{"model": "llama3.1-8b", "prompt": "Once upon a time", "max_tokens": 24, "stream": true}'`;
  return state("No requests yet",
    h("p", null, space.name ? "Point your application's base URL at this namespace, or try:" : "Point your application's base URL at this server, or try:"),
    h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": "An example" }, command),
    h("p", null, "Or send a request from the ", h("a", { href: "#/playground" }, "playground"), "."),
  );
}
