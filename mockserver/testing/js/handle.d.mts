// The types of the handle on mockserver; made by `mockserver client`, with the names that its version knows.

/** The server cannot be reached, or refuses a request; the message says why. */
export class MockServerError extends Error {}

/** Checks have failed. */
export class VerificationError extends Error {
  constructor(problems: string[]);
  /** For each failed check: what was expected, what was found, and what was nearest. */
  readonly problems: string[];
}

/** A running server. Each test gets a namespace from it. */
export class MockServer {
  private constructor();
  /** The server at a URL; by default at MOCKSERVER_URL, which `mockserver run` sets, else http://127.0.0.1:8000. */
  static connect(place?: { url?: string; token?: string }): Promise<MockServer>;
  readonly url: string;
  readonly dialects: string[];
  /** A namespace with its own stubs, faults, counters, journal and clock; by default with a unique name. */
  namespace(name?: string, options?: { dialect?: Dialect }): Namespace;
}

export interface Namespace {
  readonly name: string;
  /** The base URL of the namespace; dialects answer below it. */
  readonly url: string;
  /** An API key that selects the namespace, whatever the URL of the request. */
  readonly apiKey: string;
  /** The base URL for the client of a dialect. */
  baseUrl(dialect?: Dialect): string;
  /** The base URL for the openai client; without a dialect, that of the bare paths. */
  openaiBaseUrl(dialect?: Dialect): string;
  /** The environment variables by which clients find the namespace. */
  environment(): Record<string, string>;

  /** A stub for the requests that match; the methods of the result define its answer. */
  on(match?: Match): Stubbing;
  /** A stub for the next requests, with precedence over all others. */
  next(requests?: number): Stubbing;
  /** Add a stub from a table, written as in a stub file; resolves to its name. */
  stub(table: Stub): Promise<string>;
  /** Answer from a recording: what `mockserver record` has written, a journal, a HAR or a cassette of vcrpy; requests
   *  that it has no answer to are refused, unless they are `unmatched: "generate"`. Resolves to the stubs' names. */
  replay(
    path: string | URL,
    how?: { match?: "exact" | "lenient"; volatile?: string[]; pace?: boolean; unmatched?: "refuse" | "generate" },
  ): Promise<string[]>;
  /** Set the namespace's own settings; settings that are not named stay as they are. */
  settle(settings: OwnSettings): Promise<void>;
  /** Advance the namespace's clock; resolves to how far it is ahead, in seconds. */
  advance(seconds: number): Promise<number>;
  /** Remove stubs and faults, and clear counters and the journal. */
  reset(): Promise<void>;

  /** All exchanges in the journal, oldest first. */
  exchanges(): Promise<WholeExchange[]>;
  /** The exchanges in which a model was asked. */
  requests(): Promise<WholeExchange[]>;
  /** The latest exchange in which a model was asked. */
  last(): Promise<WholeExchange>;
  /** The exchanges that no stub matched although there were some, with the nearest stubs. */
  unmatched(): Promise<Exchange[]>;
  /** Check what clients have done. Rejects with a VerificationError. */
  verify(...checks: Check[]): Promise<void>;
  /** How clients behaved when the server failed. */
  verdict(declared?: Declared): Promise<Verdict>;
  /** Wait until a model was asked this many times; at most 5 seconds by default. */
  waitForRequests(number: number, seconds?: number): Promise<WholeExchange[]>;
  /** The requests that dialects made to applications by themselves, such as callbacks. */
  deliveries(): Promise<Delivery[]>;
  /** Wait until this many of them have ended; at most 5 seconds by default. */
  waitForDeliveries(number: number, seconds?: number): Promise<Delivery[]>;
  /** Wait until all answers have ended; at most 5 seconds by default. */
  waitIdle(seconds?: number): Promise<void>;
}

/** A stub under construction. The methods that return a promise add it, and resolve to its name. */
export interface Stubbing {
  /** The number of uses, after which it matches nothing. */
  times(number: number): Stubbing;
  /** One use. */
  once(): Stubbing;
  /** Of several matching stubs, the one with the highest priority answers. */
  priority(number: number): Stubbing;
  named(name: string): Stubbing;
  /** Headers of the answer, which replace others of the same names. */
  headers(headers: Record<string, string>): Stubbing;
  /** What happens after the last answer: repeat it, refuse the request, or let it pass to other stubs. */
  exhausted(then: NonNullable<Stub["exhausted"]>): Stubbing;
  /** The same answer every time. */
  reply(reply: Reply): Promise<string>;
  /** One answer after the other; the last one is repeated. */
  replies(...replies: Reply[]): Promise<string>;
  /** One step after the other, each used once. */
  script(...steps: NonNullable<Stub["script"]>): Promise<string>;
  /** The vendor's own error, by its neutral name. */
  error(kind: Failure, more?: Omit<ReplyErrorTable, "error" | "kind">): Promise<string>;
  /** Any status and body, in no vendor's format. */
  status(status: number, body?: unknown, more?: Record<string, unknown>): Promise<string>;
  /** A generated answer with a fault. */
  fault(kind: ReplyFault["kind"], more?: Omit<ReplyFault, "kind">): Promise<string>;
  /** A generated answer with this latency. */
  latency(latency: Latency): Promise<string>;
  /** A generated answer of this length: 128, or a distribution such as "normal(128, 20)". */
  outputTokens(tokens: number | string): Promise<string>;
  /** An answer generated with this seed. */
  seed(seed: number): Promise<string>;
}

export type ReplyErrorTable = Extract<ReplyError, object>;
export type Failure = ReplyErrorTable["error"];
