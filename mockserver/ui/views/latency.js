/** The latency card: presets, sliders, and pictures of the resulting times. */

import { ADMIN, get, patch } from "../base/api.js";
import { field, fill, h, select } from "../base/dom.js";
import { dots } from "../parts/dot-plot.js";
import { toast, trying } from "../parts/toasts.js";

const EASY = ["realistic", "off", "slow", "flaky-wifi", "overloaded"];

/** A logarithmic slider: each step multiplies by the same factor. @param {number} least @param {number} most */
const powers = (least, most) => ({
  /** @param {number} share from 0 to 1 */
  value: (share) => least * (most / least) ** share,
  /** @param {number} value */
  share: (value) => Math.log(Math.min(Math.max(value, least), most) / least) / Math.log(most / least),
});
const TTFT = powers(0.005, 20);
const RATE = powers(1, 5000);

export class Latency {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {any} catalogue @param {() => void} changed */
  constructor(catalogue, changed) {
    this.changed = changed;
    this.text = h("input", { class: "mono", spellcheck: "false", oninput: () => this.#drawSoon() });
    this.dialect = select({ onchange: () => this.#draw() }, catalogue.dialects.map((each) => each.name));
    this.easy = h("div", { class: "row", role: "group", "aria-label": "Presets" }, EASY.map((name) => h("button", { data: { preset: name }, onclick: () => this.#apply(name) }, name)));
    this.more = select({ "aria-label": "Another preset", class: "short", onchange: () => this.more.value && this.#apply(this.more.value) }, [["", "another preset…"], ...catalogue.presets.map((each) => /** @type {[string, string]} */ ([each.name, each.name]))]);
    this.ttft = slider("TTFT", 0.55, () => this.#compose());
    this.rate = slider("Rate", 0.55, () => this.#compose());
    this.jitter = slider("Jitter", 0.1, () => this.#compose());
    this.picture = h("div", { class: "dots" });
    this.wrong = h("p", { class: "notice", role: "alert", hidden: true });
    this.element = h("section", { class: "card stack wide", "aria-labelledby": "latency-title" },
      h("header", null, h("h2", { id: "latency-title" }, "Latency"), h("p", null, "for all requests without a latency of their own")),
      h("div", { class: "row" }, this.easy, this.more),
      h("div", { class: "stack" }, this.ttft.element, this.rate.element, this.jitter.element),
      h("div", { class: "ask" }, field("As text", this.text), h("button", { class: "main", onclick: () => this.#apply(this.text.value) }, "Apply")),
      this.wrong, field("Shown for", this.dialect), this.picture,
    );
    this.summary = h("p", { class: "quiet" });
    this.settings = h("p", { class: "quiet mono" });
    this.easy.parentElement?.after(this.summary, this.settings);
    this.presets = new Map(catalogue.presets.map((each) => [each.name, each]));
    this.#tellSliders();
  }

  /** @param {string} latency in force */
  show(latency) {
    if (document.activeElement !== this.text) this.text.value = latency;
    for (const button of this.easy.children) button.setAttribute("aria-pressed", String(button.dataset.preset === latency));
    const preset = this.presets.get(latency);
    this.summary.textContent = preset?.summary ?? "";
    this.settings.textContent = preset?.latency ?? "";
    return this.#draw().then((medians) => medians && document.activeElement?.getAttribute("type") !== "range" && this.#follow(medians));
  }

  /** @param {string} latency */
  #apply(latency) {
    return trying(async () => {
      await patch(`${ADMIN}/settings`, { latency });
      this.text.value = latency;
      this.more.value = "";
      toast(`Latency: ${latency}`);
      this.changed();
    });
  }

  #values() {
    return { ttft: TTFT.value(this.ttft.share()), rate: RATE.value(this.rate.share()), jitter: Math.round(this.jitter.share() * 100) / 100 };
  }

  #compose() {
    const { ttft, rate, jitter } = this.#values();
    const first = jitter ? `lognormal(${Math.round(ttft * 1000)}ms, ${jitter})` : `${Math.round(ttft * 1000)}ms`;
    this.text.value = `ttft=${first}, rate=${rounded(rate)} tok/s${jitter ? `, jitter=${jitter}` : ""}`;
    this.#tellSliders();
    this.#drawSoon();
  }

  #tellSliders() {
    const { ttft, rate, jitter } = this.#values();
    this.ttft.tell(ttft < 1 ? `${Math.round(ttft * 1000)} ms` : `${ttft.toFixed(1)} s`);
    this.rate.tell(`${rounded(rate)} tok/s`);
    this.jitter.tell(String(jitter));
  }

  #drawSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), 120);
  }

  async #draw() {
    try {
      const wanted = new URLSearchParams({ of: this.text.value, dialect: this.dialect.value });
      const { ttft, gaps } = await get(`${ADMIN}/latency?${wanted}`);
      fill(this.picture, dots("Time to the first token", ttft), dots("Gap between tokens", gaps));
      this.wrong.hidden = true;
      return { ttft: ttft[50], gap: gaps[50] };
    } catch (error) {
      this.wrong.textContent = /** @type {Error} */ (error).message;
      this.wrong.hidden = false;
      return null;
    }
  }

  /** Set the sliders to the latency in force. @param {{ttft: number, gap: number}} medians in seconds */
  #follow({ ttft, gap }) {
    this.ttft.put(TTFT.share(ttft || 1e-9));
    this.rate.put(RATE.share(1 / Math.max(gap, 1e-9)));
    this.#tellSliders();
  }
}

/** @param {number} rate */
const rounded = (rate) => (rate < 10 ? rate.toFixed(1) : String(Math.round(rate)));

/** @param {string} name @param {number} start @param {() => void} moved */
function slider(name, start, moved) {
  const input = h("input", { type: "range", min: 0, max: 1, step: 0.01, value: String(start), "aria-label": name, oninput: moved });
  const output = h("output");
  return {
    element: h("div", { class: "slider" }, h("span", { "aria-hidden": "true" }, name), input, output),
    share: () => Number(input.value),
    /** @param {number} share */
    put: (share) => (input.value = String(share)),
    /** @param {string} text */
    tell: (text) => {
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
    },
  };
}
