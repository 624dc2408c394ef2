// Types of mockserver's handle for tests in TypeScript; made by `mockserver client`, with the names of the server's version.

/** A server that cannot be reached, or that refuses what is asked of it; the message says why. */
export class MockServerError extends Error {}

/** Checks that do not hold. */
export class VerificationError extends Error {
  constructor(problems: string[]);
  /** Of each: what was expected, what was found, and what came nearest. */
  readonly problems: string[];
}

/** A server that runs. Tests ask it for a namespace each. */
export class MockServer {
  private constructor();
  /** The server at a URL; without one that of MOCKSERVER_URL, as `mockserver run` sets it, or http://127.0.0.1:8000. */
  static connect(place?: { url?: string; token?: string }): Promise<MockServer>;
  readonly url: string;
  readonly dialects: string[];
  /** A namespace with stubs, faults, counters, journal and clock of its own; without a name one that nobody else has. */
  namespace(name?: string, told?: { dialect?: Dialect }): Namespace;
}

export interface Namespace {
  readonly name: string;
  /** The base URL of the namespace; dialects answer below it. */
  readonly url: string;
  /** A key that leads to the namespace wherever a request with it arrives. */
  readonly apiKey: string;
  /** The base URL that a dialect's own client wants. */
  baseUrl(dialect?: Dialect): string;
  /** The base URL that the openai client wants; without any dialect that of the bare paths. */
  openaiBaseUrl(dialect?: Dialect): string;
  /** The environment variables by which clients find the namespace of their own accord. */
  environment(): Record<string, string>;

  /** A stub for the requests that match; what it answers is said next. */
  on(match?: Match): Stubbing;
  /** A stub for the next so many requests, before all others. */
  next(requests?: number): Stubbing;
  /** Add a stub by its table, as a stub file has it; the answer is its name. */
  stub(table: Stub): Promise<string>;
  /** Give the namespace settings of its own; those not named stay. */
  settle(settings: OwnSettings): Promise<void>;
  /** Put the namespace's clock forward; the answer is how far it is ahead, in seconds. */
  advance(seconds: number): Promise<number>;
  /** Forget all that was stubbed, armed, counted and recorded. */
  reset(): Promise<void>;

  /** Every exchange that the journal keeps, oldest first. */
  exchanges(): Promise<WholeExchange[]>;
  /** Those in which a model was asked. */
  requests(): Promise<WholeExchange[]>;
  /** The latest of these. */
  last(): Promise<WholeExchange>;
  /** The exchanges that no stub has matched, though there were some, with the nearest. */
  unmatched(): Promise<Exchange[]>;
  /** Check what clients have done. Rejects with a VerificationError. */
  verify(...checks: Check[]): Promise<void>;
  /** How clients have behaved towards a server that failed. */
  verdict(declared?: Declared): Promise<Verdict>;
  /** Wait until a model was asked so many times; 5 seconds unless told. */
  waitForRequests(number: number, seconds?: number): Promise<WholeExchange[]>;
  /** Wait until every answer has ended; 5 seconds unless told. */
  waitIdle(seconds?: number): Promise<void>;
}

/** A stub that is being made: each of the words below that give a promise adds it, and tells its name. */
export interface Stubbing {
  /** So many uses, then it matches nothing. */
  times(number: number): Stubbing;
  /** The highest is asked first. */
  priority(number: number): Stubbing;
  named(name: string): Stubbing;
  /** The answer, the same every time. */
  reply(reply: Reply): Promise<string>;
  /** One after the other; the last one stays. */
  replies(...replies: Reply[]): Promise<string>;
  /** Each step once, one after the other. */
  script(...steps: NonNullable<Stub["script"]>): Promise<string>;
  /** The vendor's own error, by its neutral name. */
  error(kind: Failure, more?: Omit<ReplyErrorTable, "error" | "kind">): Promise<string>;
  /** A generated answer with which something goes wrong. */
  fault(kind: ReplyFault["kind"], more?: Omit<ReplyFault, "kind">): Promise<string>;
  /** A generated answer at this pace. */
  latency(latency: Latency): Promise<string>;
}

export type ReplyErrorTable = Extract<ReplyError, object>;
export type Failure = ReplyErrorTable["error"];
