/** The live connection to the server: the journal, then all exchanges as they begin and end. */

import { ApiError, ask, get, inSpace } from "./api.js";
import { serverEvents } from "./sse.js";

/** @typedef {"connecting" | "live" | "lost" | "closed" | "resting"} State */

const PATIENCE = [250, 500, 1000, 2000];

export class Live {
  /** @type {AbortController | null} */
  #running = null;
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;

  /**
   * @param {import("./exchanges.js").Exchanges} exchanges
   * @param {(state: State, why?: string) => void} tell
   */
  constructor(exchanges, tell) {
    this.exchanges = exchanges;
    this.tell = tell;
    // A hidden tab closes its connection, since browsers allow only six to one server.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop("resting") : this.start()));
  }

  /** Connect, or reconnect. */
  start() {
    this.stop("connecting");
    const running = new AbortController();
    this.#running = running;
    // Ignore what happens to an abandoned connection.
    this.#follow(running.signal).catch((error) => running.signal.aborted || this.#lost(error));
  }

  /** @param {State} state */
  stop(state) {
    clearTimeout(this.#again);
    this.#running?.abort();
    this.#running = null;
    this.tell(state);
  }

  /** @param {AbortSignal} signal */
  async #follow(signal) {
    const answer = await ask("GET", inSpace("/events"), undefined, signal);
    // Read the list after the connection is open, so that nothing is missed in between.
    await this.#readAll();
    if (signal.aborted) return;
    this.#failures = 0;
    this.tell("live");
    for await (const { event, data } of serverEvents(/** @type {any} */ (answer.body))) {
      if (signal.aborted) return;
      if (event === "exchange") this.exchanges.put(JSON.parse(data));
      else if (event === "missed") await this.#readAll();
    }
    throw new ApiError(0, "The connection to the server is lost.");
  }

  async #readAll() {
    this.exchanges.replace((await get(inSpace("/journal?limit=20000"))).exchanges);
  }

  /** @param {any} error */
  #lost(error) {
    if (error.status === 401) return this.tell("closed", error.message);
    this.tell("lost", error.message);
    const wait = PATIENCE[Math.min(this.#failures, PATIENCE.length - 1)];
    this.#failures += 1;
    this.#again = setTimeout(() => this.start(), wait);
  }
}
