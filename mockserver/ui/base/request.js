/** A request to a dialect, watched from the first byte to the last. */

import { serverEvents } from "./sse.js";
import { json, textOf, thoughtOf } from "./answer-text.js";
import { PREFIX, space } from "./api.js";

/**
 * @typedef {{path: string, method: string, body: any, latency: string, keyed: boolean, needs: Record<string, string>}} PlaygroundRequest
 * @typedef {{raw: string, text: string, thought: string, at: number}} Arrival `at` in seconds after the request
 * @typedef {{status: number, seconds: number, broken: string | null}} End `status` is 0 if there was no answer
 */

/**
 * Sends a request, and reports everything that arrives.
 * @param {PlaygroundRequest} request
 * @param {(arrival: Arrival) => void} watch
 * @param {AbortSignal} signal
 * @returns {Promise<End>}
 */
export async function send(request, watch, signal) {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1000;
  const headers = {
    ...(request.keyed && { authorization: "Bearer playground" }),
    ...request.needs,
    ...(request.body !== undefined && { "content-type": "application/json" }),
    ...(request.latency && { "x-mockserver-latency": request.latency }),
    ...(space.name && { "x-mockserver-namespace": space.name }),
  };
  /** @param {string} raw @param {any} document */
  const arrived = (raw, document) => watch({ raw, text: textOf(document), thought: thoughtOf(document), at: since() });
  /** @type {Response | undefined} */
  let answer;
  try {
    answer = await fetch(PREFIX + request.path, { method: request.method, headers, body: request.body === undefined ? undefined : JSON.stringify(request.body), signal, cache: "no-store" });
    if (answer.headers.get("content-type")?.includes("event-stream") && answer.body) {
      for await (const { raw, data } of serverEvents(answer.body)) arrived(raw, json(data));
    } else {
      const raw = await answer.text();
      arrived(raw, json(raw));
    }
    return { status: answer.status, seconds: since(), broken: null };
  } catch (error) {
    const broken = signal.aborted ? "stopped by you" : "the connection broke";
    return { status: answer?.status ?? 0, seconds: since(), broken };
  }
}
