/** One exchange: the request, what decided its answer, the answer, and the stream over time, followed to its end. */

import { get, inSpace } from "../base/api.js";
import { fill, h } from "../base/dom.js";
import { dataOf, json, saidBy, textOf, thoughtBy, thoughtOf } from "../base/answer-text.js";
import { clockTime, counted, duration, gradeOf } from "../base/format.js";
import { asCurl, asPytest, asStub, pathOf, replay, servedPaths } from "../parts/export.js";
import { Chart } from "../parts/chart.js";
import { code } from "../parts/code.js";
import { VirtualList } from "../parts/list.js";
import { failure } from "../parts/states.js";
import { copy, toast, trying } from "../parts/toasts.js";

const BEAT = 160;

export class Detail {
  /** @type {number | null} */
  number = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {any} */
  #exchange = null;
  #settled = false;

  /** @param {() => void} back */
  constructor(back) {
    this.back = back;
    this.chart = new Chart({ choose: (index) => this.#chooseEvent(index) });
    this.element = h("article", { class: "detail", "aria-label": "The chosen exchange" });
  }

  /** Show another exchange, and follow it. @param {number} number */
  async open(number) {
    if (this.number === number && this.#settled) return;
    this.close();
    this.number = number;
    this.chart.choose(-1);
    this.events = eventList((index) => this.chart.choose(index));
    this.built = false;
    await this.#read(number);
  }

  close() {
    clearTimeout(this.#timer);
    this.number = null;
    this.#settled = false;
  }

  /** Read the exchange again at once, since it has changed. */
  refresh() {
    if (this.number !== null && !this.#settled) {
      clearTimeout(this.#timer);
      this.#read(this.number);
    }
  }

  /** @param {number} number */
  async #read(number) {
    const began = performance.now();
    try {
      const exchange = await get(inSpace(`/journal/${number}`));
      if (this.number !== number) return;
      this.#show(exchange);
      this.#settled = exchange.outcome.closed_by !== null;
    } catch (error) {
      if (this.number !== number) return;
      this.#settled = true;
      fill(this.element, h("button", { class: "back", onclick: this.back }, "Back to the list"), failure(/** @type {Error} */ (error)));
    }
    const took = performance.now() - began;
    clearTimeout(this.#timer);
    if (!this.#settled) this.#timer = setTimeout(() => this.#read(number), Math.max(BEAT, 4 * took));
  }

  /** @param {any} exchange */
  #show(exchange) {
    this.#exchange = exchange;
    if (!this.built) this.#build(exchange);
    const events = exchange.answer.events ?? [];
    fill(this.heading, ...title(exchange));
    fill(this.verdict, ...verdict(exchange));
    fill(this.facts, ...facts(exchange));
    this.chart.show({ marks: events.map(mark), end: endOf(exchange), now: nowOf(exchange) });
    if (this.events) this.events.items = events.map((event, index) => ({ ...event, index }));
    const sent = { ...exchange.answer, events: events.filter((event) => event.sent !== null) };
    fill(this.said, h("div", { class: "thought" }, thoughtBy(sent)), saidBy(sent).trimStart());
    this.words.hidden = !this.said.textContent;
  }

  /** @param {any} exchange */
  #build(exchange) {
    this.built = true;
    this.heading = h("h2");
    this.verdict = h("p", { class: "verdict" });
    this.facts = h("dl", { class: "facts" });
    this.said = h("div", { class: "said-text", tabindex: "0", role: "region", "aria-label": "The text of the answer" });
    this.words = section("Text", "", this.said);
    const { request, answer } = exchange;
    const streamed = exchange.streamed && answer.events;
    fill(this.element,
      h("header", null, h("button", { class: "back", onclick: this.back }, "Back to the list"), this.heading, this.verdict, this.#actions()),
      answer.events && section(exchange.streamed ? "The stream over time" : "The answer over time", "arrow keys move between events", this.chart.element),
      stale(exchange.decision),
      nearest(exchange.decision.nearest ?? []),
      this.facts,
      this.words,
      section("Request", request.query && `?${request.query}`, headerTable(request.headers), bodyOf(request, "The body of the request")),
      section("Answer", `status ${answer.status}`, headerTable(answer.headers), !streamed && bodyOf(answer, "The body of the answer")),
      streamed && section("Events", counted(answer.events.length, "event"), eventHead(), this.events?.element),
    );
  }

  #actions() {
    const button = (text, work) => h("button", { onclick: () => trying(work) }, text);
    const path = async () => pathOf(this.#exchange, await servedPaths());
    return h("div", { class: "row" },
      h("button", { class: "main", onclick: () => trying(() => this.#replay()) }, "Replay"),
      button("Copy as curl", async () => copy("curl", asCurl(this.#exchange, await path()))),
      button("Copy as pytest", async () => copy("The test", asPytest(this.#exchange, await path()))),
      button("Copy as stub", async () => copy("The stub", asStub(this.#exchange))),
    );
  }

  async #replay() {
    const path = pathOf(this.#exchange, await servedPaths());
    dispatchEvent(new CustomEvent("replayed"));
    try {
      toast(`Replayed: status ${await replay(this.#exchange, path)}`);
    } catch {
      toast("Replayed: the answer broke off");
    }
  }

  /** @param {number} index */
  #chooseEvent(index) {
    if (!this.events) return;
    this.events.chosen = index < 0 ? null : index;
    if (index >= 0) this.events.reveal(index);
  }
}

/** @param {any} exchange */
function title(exchange) {
  return [h("span", { class: `badge ${gradeOf(exchange.status)}` }, exchange.status), `${exchange.method} ${exchange.path}`, h("span", { class: "badge" }, `#${exchange.number}`)];
}

/** What decided the answer, and how it went, in a sentence or two. @param {any} exchange */
function verdict(exchange) {
  const { decision, outcome, answer } = exchange;
  const by = {
    generation: ["Answered by ", h("strong", null, decision.rule ? `the stub ${decision.rule}` : "a generated reply")],
    refusal: ["Refused, ", h("strong", null, String(decision.kind).replaceAll("_", " "))],
    simulator_error: ["Answered by mockserver itself: ", h("strong", null, String(decision.message).replace(/\.$/, ""))],
    answer: ["Answered ", h("strong", null, decision.rule ? `by the stub ${decision.rule}` : "from a table, without a model")],
  }[decision.by] ?? [decision.by];
  const faults = decision.faults.length ? [", with fault ", h("strong", null, decision.faults.join(", "))] : [];
  const sent = `${outcome.events_sent} of ${counted((answer.events ?? []).length, "event")}`;
  const went = { server: ` Finished after ${duration(outcome.seconds)}.`, client: ` The client left after ${duration(outcome.seconds)}, with ${sent} sent.`, null: ` In progress: ${sent} sent.` }[String(outcome.closed_by)];
  const ended = answer.ending ? ` The connection is broken off: ${answer.ending}.` : "";
  return [...by, ...faults, ".", ended, went];
}

/** @param {any} exchange */
function facts(exchange) {
  const { timing, usage, planned, decision } = exchange;
  const told = [
    ["Dialect", exchange.dialect], ["Operation", exchange.operation], ["Edition", exchange.edition], ["Seed", exchange.seed],
    ["Model", exchange.model], ["Rule", decision.rule], ["At", clockTime(exchange.at)],
    ["TTFT planned", timing.ttft_due !== undefined && duration(timing.ttft_due)],
    ["Queue, prefill, decode", timing.queue !== undefined && [timing.queue, timing.prefill, timing.decode].map(duration).join(" · ")],
    ["Tokens, prompt + answer", usage && `${usage.prompt_tokens} + ${tokensOf(usage, planned)}`], ["Tokens cached", usage?.cached_tokens],
    ["Finish", (exchange.finish_reasons ?? []).join(", ")],
    ["Tools called", (exchange.tool_calls ?? []).map((call) => call.name).join(", ")],
    ["Namespace", exchange.namespace],
  ];
  return told.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "").map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)));
}

/** How many tokens were sent, and of how many. @param {any} usage @param {any} planned */
function tokensOf({ completion_tokens: sent }, planned) {
  const all = planned.usage.completion_tokens;
  return sent === all ? String(all) : `${sent} of ${all}`;
}

/** @param {any} event @returns {import("../parts/chart.js").Mark} */
function mark(event) {
  const data = dataOf(event.data);
  return { due: event.due, sent: event.sent, tokens: event.tokens, text: textOf(json(data)) || thoughtOf(json(data)) || data || String(event.data) };
}

/** @param {any} exchange */
function endOf({ outcome, answer }) {
  if (outcome.closed_by === null) return undefined;
  if (outcome.closed_by === "client") return { at: outcome.seconds, text: "client left", broken: true };
  return { at: outcome.seconds, text: answer.ending ?? "", broken: answer.ending !== null && answer.ending !== undefined };
}

/** How far a running answer is, in seconds after its arrival. @param {any} exchange */
function nowOf(exchange) {
  return exchange.outcome.closed_by === null ? Math.max(Date.now() / 1000 + exchange.ahead - exchange.at, 0) : undefined;
}

/** @param {string} name @param {any} note @param {...any} children */
function section(name, note, ...children) {
  return h("section", { class: "section" }, h("header", null, h("h3", null, name), note && h("span", { class: "quiet" }, note)), ...children);
}

/** Why no stub answered: the nearest stubs, field by field. @param {any[]} stubs */
function nearest(stubs) {
  if (!stubs.length) return null;
  const rows = stubs.flatMap(({ name, differences }) => differences.map(({ field, wanted, found }) => [name, field, wanted, found]));
  return section("No stub matched", "the nearest stubs", table(["Stub", "Field", "Expected", "Found"], rows));
}

/** Where a request differs from the one that its answer was recorded for. @param {any} decision */
function stale({ stale: differences, rule }) {
  if (!differences) return null;
  const rows = differences.map(({ field, wanted, found }) => [field, wanted, found]);
  return section("Stale answer", `${rule} was recorded for another request`, table(["Place", "Recorded", "Found"], rows));
}

/** @param {string[]} columns @param {string[][]} rows */
function table(columns, rows) {
  const head = h("tr", null, columns.map((text) => h("th", { scope: "col" }, text)));
  return h("table", null, h("thead", null, head), h("tbody", null, rows.map((texts) => h("tr", null, texts.map((text) => h("td", null, text))))));
}

/** @param {Record<string, string>} headers */
function headerTable(headers) {
  const rows = Object.entries(headers ?? {});
  if (!rows.length) return null;
  return h("details", null, h("summary", null, counted(rows.length, "header")), h("table", { class: "headers" }, h("tbody", null, rows.map(([name, value]) => h("tr", null, h("td", { class: "mono" }, name), h("td", { class: "mono" }, value))))));
}

/** @param {any} message @param {string} label */
function bodyOf(message, label) {
  if (message.body_base64) return code(message.body_base64, `${label}, in base64`);
  return message.body === undefined || message.body === "" ? null : code(message.body_text ?? message.body, label);
}

function eventHead() {
  return h("div", { class: "event event-head", "aria-hidden": "true" }, ["#", "planned", "sent", "tok", "data"].map((name, index) => h("span", { class: index < 4 ? "number" : "" }, name)));
}

/** @param {(index: number) => void} choose @returns {VirtualList<any>} */
function eventList(choose) {
  return new VirtualList({
    height: 26, label: "Events", class: "events", key: (event) => event.index, choose: (event) => choose(event.index),
    draw: (event, element) => {
      element.className = `event ${event.sent === null ? "unsent" : ""}`;
      const shown = typeof event.data === "string" ? event.data.replace(/\r/g, "␍").trimEnd().replace(/\n/g, "⏎ ") : JSON.stringify(event.data ?? event.data_base64);
      fill(element, [event.index + 1, duration(event.due), event.sent === null ? "never" : duration(event.sent), event.tokens].map((value) => h("span", { class: "number" }, value)), h("span", { title: shown.slice(0, 2000) }, shown));
    },
  });
}
