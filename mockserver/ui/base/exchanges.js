/** The exchanges that the page knows, by number. */

import { perFrame } from "./dom.js";

/**
 * A line of the journal, as made by `state/journal/transcripts.py`.
 * @typedef {{number: number, at: number, method: string, path: string, dialect?: string, operation?: string,
 *   edition?: string, seed?: number, status: number, streamed?: boolean, model?: string, prompt?: string,
 *   usage?: any, finish_reasons?: string[], planned?: any, ahead: number,
 *   decision: {by: string, kind?: string, message?: string, faults: string[], rule?: string, unmatched?: boolean, stale?: {field: string, wanted: string, found: string}[]},
 *   timing: {queue?: number, prefill?: number, decode?: number, ttft_due?: number, end_due?: number, ttft?: number | null},
 *   outcome: {closed_by: "server" | "client" | null, events_sent: number, tokens_sent: number, seconds: number}}} Line
 */

const MOST = 20_000;

export class Exchanges {
  /** @type {Map<number, Line>} in the order of their numbers */
  #lines = new Map();
  /** Called after changes, at most once per frame. @type {() => void} */
  changed = () => {};
  #tell = perFrame(() => this.changed());

  /** @param {Line} line */
  put(line) {
    this.#lines.set(line.number, line);
    while (this.#lines.size > MOST) this.#lines.delete(/** @type {number} */ (this.#lines.keys().next().value));
    this.#tell();
  }

  /** @param {Line[]} lines those that the server keeps, oldest first */
  replace(lines) {
    this.#lines = new Map(lines.slice(-MOST).map((line) => [line.number, line]));
    this.#tell();
  }

  /** @param {number} number */
  find(number) {
    return this.#lines.get(number);
  }

  get size() {
    return this.#lines.size;
  }

  /** @param {(line: Line) => boolean} wanted @returns {Line[]} the newest first */
  matching(wanted) {
    const found = [];
    for (const line of this.#lines.values()) if (wanted(line)) found.push(line);
    return found.reverse();
  }
}

/** @param {Line} line */
export const isRunning = (line) => line.outcome.closed_by === null;
/** @param {Line} line */
export const isRefused = (line) => line.status >= 400;
/** @param {Line} line */
export const hasFault = (line) => line.decision.faults.length > 0;
/** @param {Line} line */
export const hasLeft = (line) => line.outcome.closed_by === "client";
/** Whether no route or, if there are stubs, no stub matched. @param {Line} line */
export const isUnmatched = (line) => line.decision.by === "simulator_error" || line.decision.unmatched === true;
