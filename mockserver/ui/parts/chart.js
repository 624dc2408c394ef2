/**
 * A stream over time: cumulated tokens, and a mark for the planned and the actual time of each event.
 * Pointer and arrow keys select an event to describe; without one, the whole stream is summarised.
 */

import { h, fill, perFrame } from "../base/dom.js";
import { counted, duration, shortened } from "../base/format.js";

/**
 * @typedef {{due: number | null, sent: number | null, tokens: number, text: string}} Mark in seconds after arrival
 * @typedef {{marks: Mark[], end?: {at: number, text: string, broken: boolean}, now?: number}} Stream
 */

const LEFT = 60;
const RIGHT = 26;
const CURVE = { top: 16, bottom: 100 };
const PLANNED = { top: 110, bottom: 126 };
const SENT = { top: 132, bottom: 148 };
const AXIS = 158;
const STEPS = [1, 2, 5];

export class Chart {
  /** @type {Stream} */
  #stream = { marks: [] };
  #chosen = -1;
  #draw = perFrame(() => this.#paint());

  /**
   * @param {{sent?: string, unit?: string, choose?: (index: number) => void}} [manner] `sent`: what the actual times
   * are called, `unit`: what an event contains
   */
  constructor(manner = {}) {
    this.manner = { sent: "sent", unit: "token", choose: () => {}, ...manner };
    this.canvas = h("canvas", {
      tabindex: "0", role: "slider", "aria-label": "Events of the stream over time", "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0",
      onpointermove: (event) => this.#point(event), onpointerdown: (event) => this.#point(event),
      onpointerleave: () => this.choose(-1), onkeydown: (event) => this.#key(event),
    });
    this.probe = h("span", { hidden: true });
    this.readout = h("p", { class: "readout" });
    this.planned = h("span", { class: "planned" }, "planned");
    this.element = h("div", { class: "chart" },
      this.canvas, this.readout,
      h("div", { class: "legend" }, this.planned, h("span", { class: "sent" }, this.manner.sent), h("span", { class: "broken" }, "broken off"), this.probe),
    );
    new ResizeObserver(this.#draw).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.#draw);
    addEventListener("theme", this.#draw);
  }

  /** @param {Stream} stream */
  show(stream) {
    this.#stream = stream;
    this.planned.hidden = !stream.marks.some((mark) => mark.due !== null);
    this.canvas.setAttribute("aria-valuemax", String(stream.marks.length));
    this.#tell();
    this.#draw();
  }

  /** @param {number} index of an event, -1 for none */
  choose(index) {
    if (index === this.#chosen) return;
    this.#chosen = index;
    this.manner.choose(index);
    this.#tell();
    this.#draw();
  }

  #tell() {
    const { marks } = this.#stream;
    const words = marks[this.#chosen] ? this.#oneEvent(this.#chosen) : summary(this.#stream, this.manner);
    fill(this.readout, words.map(([label, value], index) => [index ? " · " : "", label, label && value ? " " : "", value && h("strong", null, value)]).flat());
    this.canvas.setAttribute("aria-valuenow", String(this.#chosen + 1));
    this.canvas.setAttribute("aria-valuetext", words.map((pair) => pair.join(" ").trim()).join(", "));
  }

  /** @param {number} index @returns {[string, string][]} */
  #oneEvent(index) {
    const { marks } = this.#stream;
    const { due, sent, tokens, text } = marks[index];
    const before = index ? marks[index - 1] : null;
    const gap = sent !== null ? sent - (before?.sent ?? 0) : null;
    /** @type {[string, string][]} */
    const words = [["event", `${index + 1} of ${marks.length}`]];
    if (due !== null) words.push(["planned", duration(due)]);
    words.push([this.manner.sent, sent === null ? "never" : duration(sent)]);
    if (gap !== null) words.push([before ? "gap" : "after the request", duration(gap)]);
    words.push([counted(tokens, this.manner.unit), ""], [`“${shortened(text, 60)}”`, ""]);
    return words;
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const { marks } = this.#stream;
    if (!marks.length) return;
    const scale = this.#scale();
    const wanted = scale.seconds(event.offsetX);
    let best = 0;
    marks.forEach((mark, index) => {
      if (Math.abs(instant(mark) - wanted) < Math.abs(instant(marks[best]) - wanted)) best = index;
    });
    this.choose(best);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#stream.marks.length - 1;
    const wanted = { ArrowRight: this.#chosen + 1, ArrowUp: this.#chosen + 1, ArrowLeft: this.#chosen - 1, ArrowDown: this.#chosen - 1, PageUp: this.#chosen + 10, PageDown: this.#chosen - 10, Home: 0, End: last, Escape: -1 }[event.key];
    if (wanted === undefined || last < 0) return;
    event.preventDefault();
    this.choose(event.key === "Escape" ? -1 : Math.min(Math.max(wanted, 0), last));
  }

  #scale() {
    const { marks, end, now } = this.#stream;
    let most = Math.max(end?.at ?? 0, now ?? 0);
    for (const { due, sent } of marks) most = Math.max(most, due ?? 0, sent ?? 0);
    const width = Math.max(this.canvas.clientWidth - LEFT - RIGHT, 1);
    const span = Math.max(most * 1.03, 1e-4);
    return {
      span,
      /** @param {number} seconds */
      x: (seconds) => LEFT + (seconds / span) * width,
      /** @param {number} x */
      seconds: (x) => ((x - LEFT) / width) * span,
    };
  }

  #paint() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const dots = devicePixelRatio || 1;
    this.canvas.width = width * dots;
    this.canvas.height = height * dots;
    const pen = this.canvas.getContext("2d");
    pen.scale(dots, dots);
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const scale = this.#scale();
    this.#axis(pen, scale, width);
    this.#curves(pen, scale);
    this.#marks(pen, scale);
    this.#instants(pen, scale, width);
  }

  /** @param {string} name @returns {string} the token's colour as it is now */
  #colour(name) {
    this.probe.style.color = `var(--${name})`;
    return getComputedStyle(this.probe).color;
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} scale @param {number} width */
  #axis(pen, scale, width) {
    pen.strokeStyle = this.#colour("line");
    pen.fillStyle = this.#colour("quiet");
    pen.textAlign = "center";
    pen.beginPath();
    for (const seconds of ticks(scale.span, (width - LEFT) / 80)) {
      const x = Math.round(scale.x(seconds)) + 0.5;
      pen.moveTo(x, CURVE.top);
      pen.lineTo(x, AXIS);
      pen.fillText(seconds === 0 ? "0" : duration(seconds), x, AXIS + 15);
    }
    pen.moveTo(LEFT, CURVE.bottom + 0.5);
    pen.lineTo(width - RIGHT, CURVE.bottom + 0.5);
    pen.stroke();
    pen.textAlign = "right";
    pen.fillText(`${this.manner.unit}s`, LEFT - 10, CURVE.bottom - 2);
    if (!this.planned.hidden) pen.fillText("planned", LEFT - 10, PLANNED.bottom - 4);
    pen.fillText(this.manner.sent, LEFT - 10, SENT.bottom - 4);
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} scale */
  #curves(pen, scale) {
    const { marks } = this.#stream;
    const total = Math.max(marks.reduce((sum, mark) => sum + mark.tokens, 0), 1);
    pen.textAlign = "right";
    pen.fillText(String(total), LEFT - 10, CURVE.top + 8);
    const y = (tokens) => CURVE.bottom - (tokens / total) * (CURVE.bottom - CURVE.top);
    const sent = this.#curve(scale, y, (mark) => mark.sent);
    pen.fillStyle = this.#colour("accent-soft");
    pen.fill(sent.area);
    pen.lineWidth = 1.75;
    pen.strokeStyle = this.#colour("accent");
    pen.stroke(sent.line);
    pen.lineWidth = 1;
    pen.setLineDash([4, 3]);
    pen.strokeStyle = this.#colour("plan");
    pen.stroke(this.#curve(scale, y, (mark) => mark.due).line);
    pen.setLineDash([]);
  }

  /** @param {any} scale @param {(tokens: number) => number} y @param {(mark: Mark) => number | null} when */
  #curve(scale, y, when) {
    const line = new Path2D();
    const area = new Path2D();
    let tokens = 0;
    let x = scale.x(0);
    line.moveTo(x, y(0));
    area.moveTo(x, CURVE.bottom);
    for (const mark of this.#stream.marks) {
      const at = when(mark);
      if (at === null) break;
      x = scale.x(at);
      for (const path of [line, area]) path.lineTo(x, y(tokens));
      tokens += mark.tokens;
      for (const path of [line, area]) path.lineTo(x, y(tokens));
    }
    area.lineTo(x, CURVE.bottom);
    return { line, area };
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} scale */
  #marks(pen, scale) {
    const lanes = /** @type {const} */ ([["due", PLANNED, "plan"], ["sent", SENT, "accent"]]);
    for (const [key, lane, colour] of lanes) {
      pen.strokeStyle = this.#colour(colour);
      pen.lineWidth = 1.25;
      pen.beginPath();
      let last = -1;
      for (const mark of this.#stream.marks) {
        const at = mark[key];
        if (at === null) continue;
        const x = scale.x(at);
        if (x - last < 0.4) continue;
        last = x;
        pen.moveTo(x, mark.tokens ? lane.top : lane.top + 5);
        pen.lineTo(x, lane.bottom);
      }
      pen.stroke();
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} scale @param {number} width */
  #instants(pen, scale, width) {
    const { end, marks, now } = this.#stream;
    const first = firstToken(marks);
    if (first !== null) this.#line(pen, scale.x(first), "quiet", `TTFT ${duration(first)}`, width, [2, 3]);
    if (end?.broken) this.#line(pen, scale.x(end.at), "bad", end.text, width, [], 14);
    else if (now) this.#line(pen, scale.x(now), "good", "", width, []);
    const chosen = marks[this.#chosen];
    if (chosen) this.#line(pen, scale.x(instant(chosen)), "text", "", width, []);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} x @param {string} colour @param {string} text @param {number} width @param {number[]} dash @param {number} [down] */
  #line(pen, x, colour, text, width, dash, down = 0) {
    pen.strokeStyle = pen.fillStyle = this.#colour(colour);
    pen.lineWidth = 1;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(Math.round(x) + 0.5, CURVE.top - 4);
    pen.lineTo(Math.round(x) + 0.5, AXIS);
    pen.stroke();
    pen.setLineDash([]);
    const room = pen.measureText(text).width + 12;
    pen.textAlign = x + room > width ? "right" : "left";
    pen.fillText(text, x + (x + room > width ? -6 : 6), CURVE.top + 4 + down);
  }
}

/** @param {Mark} mark */
const instant = (mark) => mark.sent ?? mark.due ?? 0;

/** @param {Mark[]} marks */
function firstToken(marks) {
  return (marks.find((mark) => mark.tokens > 0) ?? marks[0])?.sent ?? null;
}

/** @param {Stream} stream @param {{sent: string, unit: string}} manner @returns {[string, string][]} */
function summary({ marks, end }, { sent, unit }) {
  if (!marks.length) return [["No event yet.", ""]];
  const arrived = marks.filter((mark) => mark.sent !== null);
  const first = firstToken(marks);
  const due = marks.find((mark) => mark.tokens > 0)?.due ?? null;
  const told = arrived.filter((mark) => mark.tokens > 0).map((mark) => /** @type {number} */ (mark.sent));
  const gaps = told.slice(1).map((at, index) => at - told[index]).sort((a, b) => a - b);
  const tokens = arrived.reduce((sum, mark) => sum + mark.tokens, 0);
  const span = told.length ? told[told.length - 1] - told[0] : 0;
  /** @type {[string, string][]} */
  const words = [["TTFT", first === null ? "none" : duration(first) + (due === null ? "" : ` (planned ${duration(due)})`)]];
  if (gaps.length) words.push(["gaps: median", duration(at(gaps, 0.5))], ["p95", duration(at(gaps, 0.95))], ["longest", duration(at(gaps, 1))]);
  if (span > 0.001) words.push(["rate", `${((tokens - 1) / span).toFixed(tokens / span < 20 ? 1 : 0)} ${unit}s/s`]);
  words.push([sent, arrived.length === marks.length ? counted(marks.length, "event") : `${arrived.length} of ${counted(marks.length, "event")}`]);
  if (end?.broken) words.push([end.text, `after ${duration(end.at)}`]);
  return words;
}

/** @param {number[]} ordered @param {number} share */
const at = (ordered, share) => ordered[Math.min(Math.floor(share * ordered.length), ordered.length - 1)];

/** Round times from 0 to the span, at most this many. @param {number} span @param {number} most */
function ticks(span, most) {
  const rough = span / Math.max(most, 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((each) => each * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step);
}
