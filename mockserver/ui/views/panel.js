/** One side of the playground: the form for a request, and its answer: text, raw events and timing. */

import { get } from "../base/api.js";
import { field, fill, h, perFrame, select } from "../base/dom.js";
import { json } from "../base/answer-text.js";
import { send } from "../base/request.js";
import { counted, duration, gradeOf } from "../base/format.js";
import { Chart } from "../parts/chart.js";
import { inputsOf, propertiesOf } from "../parts/form.js";
import { failure } from "../parts/states.js";
import { toast } from "../parts/toasts.js";

// Parameters with their own controls.
const OWN = new Set(["model", "prompt", "messages", "input", "stream"]);
// Only this much of the end of the raw events is shown.
const LONGEST = 400_000;

let panes = 0;
/** @type {Map<string, Promise<any>>} the contracts read so far, by dialect */
const contracts = new Map();

export class Panel {
  /** @type {AbortController | null} */
  #running = null;
  /** @type {import("../parts/form.js").Input[]} */
  #inputs = [];

  /** @param {any} catalogue @param {string} dialect @param {string} letter that distinguishes the two */
  constructor(catalogue, dialect, letter) {
    this.catalogue = catalogue;
    this.name = `pane-${(panes += 1)}`;
    this.dialect = select({ onchange: () => this.#chooseDialect() }, catalogue.dialects.map((each) => [each.name, each.title]), dialect);
    this.operation = h("select", { onchange: () => this.#chooseOperation() });
    this.models = h("datalist", { id: `${this.name}-models` });
    this.model = h("input", { list: this.models.id, spellcheck: "false", oninput: () => this.#tellBody() });
    this.presets = h("datalist", { id: `${this.name}-presets` }, ["off", "realistic", ...catalogue.presets.map((each) => each.name)].map((value) => h("option", { value })));
    this.latency = h("input", { list: this.presets.id, placeholder: "as set on the server", spellcheck: "false" });
    this.stream = h("input", { type: "checkbox", checked: true, onchange: () => this.#tellBody() });
    this.parameters = h("div", { class: "parameters", oninput: () => this.#tellBody() });
    this.body = h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "The request's body" });
    this.status = h("div", { class: "row", role: "status" });
    this.text = h("div", { class: "said-text", tabindex: "0", role: "group", "aria-label": "The text of the answer" });
    this.raw = h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "The raw answer" });
    this.chart = new Chart({ sent: "received", unit: "piece" });
    this.chart.element.hidden = true;
    this.element = h("section", { class: "card pane stack", "aria-label": `Request ${letter} and its answer` },
      h("div", { class: "choose" }, field("Dialect", this.dialect), field("Operation", this.operation), field("Model", this.model), field("Latency", this.latency), this.models, this.presets),
      h("div", { class: "row" }, h("label", { class: "check" }, this.stream, "Stream")),
      h("details", null, h("summary", null, "Parameters (from the vendor's contract)"), this.parameters),
      h("details", null, h("summary", null, "The request that will be sent"), this.body),
      this.status,
      h("div", { class: "sides" }, h("div", { class: "section" }, h("h2", { class: "small" }, "Text"), this.text), h("div", { class: "section" }, h("h2", { class: "small" }, "Raw"), this.raw)),
      this.chart.element,
    );
    this.prompt = "";
    fill(this.text, h("span", { class: "empty" }, "The text of the answer appears here."));
    fill(this.raw, h("span", { class: "empty" }, "The answer as it is sent appears here."));
    this.ready = Promise.resolve();
    this.#chooseDialect();
  }

  /** @param {string} prompt */
  set question(prompt) {
    this.prompt = prompt;
    this.#tellBody();
  }

  #vendor() {
    return this.catalogue.dialects.find((each) => each.name === this.dialect.value);
  }

  #chosen() {
    return this.#vendor().operations.find((each) => each.name === this.operation.value);
  }

  #chooseDialect() {
    const vendor = this.#vendor();
    fill(this.operation, vendor.operations.filter((each) => each.generates).map((each) => h("option", { value: each.name }, `${each.name} · ${each.paths[0]}`)));
    fill(this.models, vendor.models.map((value) => h("option", { value })));
    this.model.value = vendor.models[0] ?? "";
    this.#chooseOperation();
  }

  #chooseOperation() {
    this.properties = null;
    this.ready = this.#readContract(this.dialect.value, this.#chosen());
  }

  /** @param {string} name @param {any} operation */
  async #readContract(name, operation) {
    let document;
    try {
      document = await contractOf(name);
    } catch (error) {
      fill(this.parameters, failure(/** @type {Error} */ (error), () => this.#chooseOperation()));
      return;
    }
    if (operation !== this.#chosen()) return;
    const path = document.paths[operation.paths[0].slice(name.length + 1)];
    const schema = path?.[operation.method.toLowerCase()]?.requestBody?.content["application/json"].schema ?? {};
    this.properties = propertiesOf(schema, document);
    this.#inputs = inputsOf(schema, document, OWN);
    fill(this.parameters, this.#inputs.map(({ name, control, description }) => field(name, control, description)));
    // A model that shows its thoughts needs more tokens before its text begins.
    this.#preset("max_tokens", "messages" in this.properties ? "512" : "64");
    this.#preset("max_output_tokens", "512");
    this.#tellBody();
  }

  /** @param {string} name @param {string} value */
  #preset(name, value) {
    const input = this.#inputs.find((each) => each.name === name);
    if (input) input.control.value = value;
  }

  /** The body from the form; throws if a field is not valid JSON. */
  #said() {
    /** @type {Record<string, unknown>} */
    const body = this.model.value ? { model: this.model.value } : {};
    if (this.properties && "messages" in this.properties) body.messages = [{ role: "user", content: this.prompt }];
    else body[this.properties && "input" in this.properties ? "input" : "prompt"] = this.prompt;
    for (const input of this.#inputs) {
      const value = input.read();
      if (value !== undefined) body[input.name] = value;
    }
    if (this.stream.checked) body.stream = true;
    return body;
  }

  #tellBody() {
    try {
      this.body.textContent = JSON.stringify(this.#said(), null, 2);
    } catch (error) {
      this.body.textContent = String(error);
    }
  }

  stop() {
    this.#running?.abort();
  }

  /** Send the request, and show the answer until its end. @param {string} prompt */
  async ask(prompt) {
    if (!this.properties) this.#chooseOperation();
    await this.ready;
    this.prompt = prompt;
    let body;
    try {
      body = this.#said();
    } catch (error) {
      toast(String(error), "bad");
      return;
    }
    this.stop();
    const running = (this.#running = new AbortController());
    const operation = this.#chosen();
    const request = { path: operation.paths[0], method: operation.method, body, latency: this.latency.value.trim(), keyed: this.#vendor().keyed, needs: this.#vendor().needs };
    await this.#watch(request, running);
  }

  /** @param {import("../base/request.js").PlaygroundRequest} request @param {AbortController} running */
  async #watch(request, running) {
    /** @type {import("../base/request.js").Arrival[]} */
    const arrivals = [];
    let shown = 0;
    fill(this.text);
    fill(this.raw);
    fill(this.status, h("span", { class: "badge accent" }, "waiting"));
    const draw = perFrame(() => {
      if (this.#running !== running) return;
      const fresh = arrivals.slice(shown);
      shown = arrivals.length;
      follow(this.text, fresh.map((each) => each.thought).join(""), "thought");
      follow(this.text, fresh.map((each) => each.text).join(""));
      follow(this.raw, fresh.map((each) => each.raw).join(""));
      this.#tellTiming(arrivals, null);
    });
    const end = await send(request, (arrival) => { arrivals.push(arrival); draw(); }, running.signal);
    draw();
    requestAnimationFrame(() => this.#running === running && this.#tellEnd(arrivals, end));
  }

  /** @param {import("../base/request.js").Arrival[]} arrivals @param {import("../base/request.js").End | null} end */
  #tellTiming(arrivals, end) {
    this.chart.element.hidden = false;
    const marks = arrivals.map(({ at, text, thought, raw }) => ({ due: null, sent: at, tokens: text || thought ? 1 : 0, text: text || thought || raw }));
    this.chart.show({ marks, end: end ? { at: end.seconds, text: end.broken ?? "", broken: end.broken !== null } : undefined });
  }

  /** @param {import("../base/request.js").Arrival[]} arrivals @param {import("../base/request.js").End} end */
  #tellEnd(arrivals, end) {
    const kind = end.broken || !end.status ? "bad" : gradeOf(end.status);
    const faults = end.broken ? h("span", { class: "badge bad" }, end.broken) : null;
    fill(this.status, h("span", { class: `badge ${kind}` }, end.status || "no answer"), `${counted(arrivals.length, "event")} in ${duration(end.seconds)}`, faults);
    if (!this.text.textContent) fill(this.text, h("span", { class: "empty" }, refusal(arrivals) || "The answer has no text."));
    if (arrivals.length === 1 && json(arrivals[0].raw)) this.raw.textContent = JSON.stringify(json(arrivals[0].raw), null, 2);
    this.#tellTiming(arrivals, end);
  }
}

/** The contract of a dialect. If it could not be read, it is read again the next time. @param {string} name */
function contractOf(name) {
  const reading = contracts.get(name) ?? get(`/${name}/openapi.json`);
  contracts.set(name, reading);
  reading.catch(() => contracts.delete(name));
  return reading;
}

/**
 * Append text, and keep the end in view if it is. Consecutive text of one kind shares an element of that class.
 * @param {HTMLElement} element @param {string} text @param {string} [kind]
 */
function follow(element, text, kind) {
  if (!text) return;
  const there = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
  const into = kind ? (element.querySelector(`:scope > .${kind}:last-child`) ?? element.appendChild(h("div", { class: kind }))) : element;
  into.append(into.textContent ? text : text.trimStart());
  while ((element.textContent?.length ?? 0) > LONGEST && element.childNodes.length > 1) element.firstChild?.remove();
  if (there) element.scrollTop = element.scrollHeight;
}

/** The message of a refusal. @param {import("../base/request.js").Arrival[]} arrivals */
function refusal(arrivals) {
  const body = json(arrivals[0]?.raw ?? "");
  const error = body?.error ?? body;
  return typeof error === "string" ? error : (error?.message ?? error?.detail ?? "");
}
