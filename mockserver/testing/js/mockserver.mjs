// The handle on mockserver for tests in JavaScript and TypeScript: Node.js 18 or newer, no dependencies.
// Made by `mockserver client`. Do not edit it; run the command again after an update of the server.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";

const ADMIN = "/_mockserver";
const SECONDS = 5;
// The priority of stubs for the next requests, which precede all others.
const NEXT = 1_000_000_000;

/** The server cannot be reached, or refuses a request; the message says why. */
export class MockServerError extends Error {
  name = "MockServerError";
}

/** Checks have failed; `problems` describes each: what was expected, what was found, and what was nearest. */
export class VerificationError extends Error {
  name = "VerificationError";

  constructor(problems) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** A running server. Each test gets a namespace from it. */
export class MockServer {
  #token;
  #clients;

  constructor(url, token, clients) {
    this.url = url;
    this.#token = token;
    this.#clients = clients;
  }

  /** The server at a URL; by default at MOCKSERVER_URL, which `mockserver run` sets, else at the URL of `mockserver serve`. */
  static async connect({ url, token } = {}) {
    const { MOCKSERVER_URL, MOCKSERVER_ADMIN_TOKEN } = process.env;
    const base = (url ?? MOCKSERVER_URL ?? "http://127.0.0.1:8000").replace(/\/+$/, "");
    const server = new MockServer(base, token ?? MOCKSERVER_ADMIN_TOKEN, new Map());
    const { dialects } = await server.ask("GET", "", "/catalogue");
    for (const { name, clients } of dialects) server.#clients.set(name, clients);
    // A server of several processes refuses this, as it would all that a handle does.
    await server.ask("GET", "", "/clock");
    return server;
  }

  /** A namespace with its own stubs, faults, counters, journal and clock; by default with a unique name. */
  namespace(name = `js-${randomUUID()}`, { dialect } = {}) {
    if (!/^[^/\s]{0,200}$/.test(name))
      throw new MockServerError(`${JSON.stringify(name)}: a namespace's name cannot contain slashes or spaces, or be longer than 200 characters`);
    if (dialect !== undefined) this.clientsOf(dialect);
    return new Namespace(this, name, dialect);
  }

  /** How clients are pointed to a dialect. */
  clientsOf(dialect) {
    const found = this.#clients.get(dialect);
    if (found) return found;
    throw new MockServerError(`unknown dialect ${JSON.stringify(dialect)}. Known: ${this.dialects.join(", ")}`);
  }

  get dialects() {
    return [...this.#clients.keys()];
  }

  /** The admin API's answer for a namespace. */
  async ask(method, name, path, body, expected = []) {
    const url = `${this.url}${ADMIN}${name && `/ns/${encodeURIComponent(name)}`}${path}`;
    const headers = {
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    let answer;
    try {
      answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      const why = error.cause?.message || error.cause?.code || error.message;
      throw new MockServerError(`No mockserver at ${this.url}: ${why}. Run the tests with mockserver run -- npm test, or start a server: mockserver serve`, { cause: error });
    }
    const text = await answer.text();
    const told = parsed(text);
    if (told !== undefined && (answer.ok || expected.includes(answer.status))) return told;
    if (told?.error?.type === "mockserver_admin") throw new MockServerError(told.error.message);
    throw new MockServerError(`${url} is not a mockserver: ${answer.status} ${text.slice(0, 80)}`);
  }
}

/** The value of a JSON text; undefined if it is not JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

class Namespace {
  #server;
  #dialect;
  #passing = 0;
  #drafts = new Set();

  constructor(server, name, dialect) {
    this.name = name;
    this.#server = server;
    this.#dialect = dialect;
  }

  // --- how clients find it ---

  get url() {
    return this.name ? `${this.#server.url}/ns/${encodeURIComponent(this.name)}` : this.#server.url;
  }

  get apiKey() {
    return this.name ? `mock-ns-${this.name}` : "mock-key";
  }

  baseUrl(dialect) {
    const name = this.#named(dialect);
    return `${this.url}/${name}${this.#server.clientsOf(name).native}`;
  }

  openaiBaseUrl(dialect) {
    const name = dialect ?? this.#dialect;
    return name === undefined ? `${this.url}/v1` : `${this.url}/${name}${this.#server.clientsOf(name).openai}`;
  }

  environment() {
    const url = this.openaiBaseUrl();
    const told = { OPENAI_BASE_URL: url, OPENAI_API_BASE: url, OPENAI_API_KEY: this.apiKey };
    for (const name of this.#server.dialects) {
      const { urls, keys, more, bases, roots } = this.#server.clientsOf(name);
      for (const variable of urls) told[variable] = this.baseUrl(name);
      for (const [variable, path] of Object.entries(bases)) told[variable] = `${this.url}/${name}${path}`;
      for (const variable of roots) told[variable] = this.url;
      for (const variable of keys) told[variable] = this.apiKey;
      Object.assign(told, more);
    }
    return told;
  }

  // --- how clients are answered ---

  on(match = {}) {
    return this.#draft({ match });
  }

  next(requests = 1) {
    this.#passing += 1;
    return this.#draft({ name: `next ${this.#passing}`, times: requests, priority: NEXT });
  }

  /** A stub that gets its answer later. Which never do is told: nothing else would tell that an answer was forgotten. */
  #draft(table) {
    const draft = { table };
    this.#drafts.add(draft);
    return new Stubbing(table, (whole) => {
      this.#drafts.delete(draft);
      return this.stub(whole);
    });
  }

  #checkDrafts() {
    const [forgotten] = this.#drafts;
    this.#drafts.clear();
    if (forgotten === undefined) return;
    const { match, times } = forgotten.table;
    const which = match ? `on(${JSON.stringify(match)})` : `next(${times})`;
    throw new MockServerError(`The stub ${which} has no answer; add one, such as .reply("...")`);
  }

  async stub(table) {
    const { added } = await this.#ask("POST", "/stubs", table);
    return added[0];
  }

  async replay(path, { unmatched = "refuse", ...how } = {}) {
    let recording;
    try {
      recording = await readFile(path, "utf8");
    } catch (error) {
      throw new MockServerError(`replay: ${error.message}`, { cause: error });
    }
    const { added } = await this.#ask("POST", "/replay", { recording, name: String(path), ...how });
    await this.settle({ unmatched });
    return added;
  }

  async settle(settings) {
    await this.#ask("PUT", "/settings?merge=1", settings);
  }

  async advance(seconds) {
    return (await this.#ask("POST", "/clock", { advance: seconds })).ahead;
  }

  async reset() {
    await this.#ask("POST", "/reset");
    this.#checkDrafts();
  }

  // --- what clients have done ---

  async exchanges() {
    // First let answers end that are about to.
    await this.#wait("seconds=0.25");
    return (await this.#ask("GET", "/journal?full=1&limit=1000000")).exchanges;
  }

  async requests() {
    return (await this.exchanges()).filter(({ question }) => question);
  }

  async last() {
    const last = (await this.requests()).at(-1);
    if (last) return last;
    throw new MockServerError(`There was no request yet. Does the client use the URL of this namespace? It is ${this.url}`);
  }

  async unmatched() {
    return (await this.#ask("GET", "/journal/unmatched")).exchanges;
  }

  async verify(...checks) {
    this.#checkDrafts();
    const told = await this.#ask("POST", "/verify", { checks }, [417]);
    const problems = told.checks.filter(({ passed }) => !passed).map(({ problem }) => problem);
    if (problems.length) throw new VerificationError(problems);
  }

  async verdict(declared = {}) {
    return this.#ask("GET", `/report?${new URLSearchParams(declared)}`);
  }

  async waitForRequests(number, seconds = SECONDS) {
    if (await this.#wait(`requests=${number}&seconds=${seconds}`)) return this.requests();
    const { opened } = await this.#ask("GET", "/journal?limit=0");
    throw new MockServerError(`${number} ${number === 1 ? "request" : "requests"} did not arrive within ${seconds} s; there were ${opened}. The URL is ${this.url}`);
  }

  async deliveries() {
    return (await this.#ask("GET", "/deliveries")).deliveries;
  }

  async waitForDeliveries(number, seconds = SECONDS) {
    if (await this.#wait(`deliveries=${number}&seconds=${seconds}`)) return this.deliveries();
    const { ended } = await this.#ask("GET", "/deliveries");
    throw new MockServerError(`Waited ${seconds} s for ${number} deliveries; ${ended} have ended`);
  }

  async waitIdle(seconds = SECONDS) {
    if (!(await this.#wait(`seconds=${seconds}`)))
      throw new MockServerError(`Some answers had not ended after ${seconds} s`);
  }

  async #wait(query) {
    return (await this.#ask("GET", `/wait?${query}`)).happened;
  }

  #ask(method, path, body, expected) {
    return this.#server.ask(method, this.name, path, body, expected);
  }

  #named(dialect) {
    const name = dialect ?? this.#dialect;
    if (name === undefined) throw new MockServerError('Name a dialect, such as baseUrl("cerebras")');
    return name;
  }
}

class Stubbing {
  #table;
  #finish;
  #answered = false;

  /** `finish` adds the whole table as a stub. */
  constructor(table, finish) {
    this.#table = table;
    this.#finish = finish;
  }

  times(number) {
    return this.#with({ times: number });
  }

  once() {
    return this.times(1);
  }

  priority(number) {
    return this.#with({ priority: number });
  }

  named(name) {
    return this.#with({ name });
  }

  headers(headers) {
    return this.#with({ headers });
  }

  exhausted(then) {
    return this.#with({ exhausted: then });
  }

  reply(reply) {
    return this.#add({ reply });
  }

  replies(...replies) {
    return this.#add({ replies });
  }

  script(...steps) {
    return this.#add({ script: steps });
  }

  error(kind, more = {}) {
    return this.#add({ error: { error: kind, ...more } });
  }

  status(status, body = "", more = {}) {
    return this.#add({ reply: { status, body, ...more } });
  }

  fault(kind, more = {}) {
    return this.#add({ faults: [{ kind, ...more }] });
  }

  latency(latency) {
    return this.#add({ latency });
  }

  outputTokens(tokens) {
    return this.#add({ output_tokens: tokens });
  }

  seed(seed) {
    return this.#add({ seed });
  }

  #with(more) {
    return new Stubbing({ ...this.#table, ...more }, this.#finish);
  }

  async #add(answer) {
    if (this.#answered)
      throw new MockServerError("This stub has an answer already. For several answers in turn, use .replies(...) or .script(...)");
    this.#answered = true;
    return this.#finish({ ...this.#table, ...answer });
  }
}
