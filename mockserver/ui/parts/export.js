/** An exchange in other forms: a curl command, a test, a stub, and the same request once more. */

import { json, saidBy, thoughtBy } from "../base/answer-text.js";
import { isWritable, tomlLines } from "../base/toml.js";
import { ADMIN, PREFIX, get, space } from "../base/api.js";

// Headers that every client sets itself.
const OWN = new Set(["host", "content-length", "connection", "accept", "accept-encoding", "accept-language", "user-agent", "origin", "referer", "transfer-encoding", "dnt", "priority", "pragma", "cache-control", "te"]);
// What the journal shows of a secret.
const MASKED = /\*{4}[^\s&@;,"'<>]{0,4}/g;
const ANY_KEY = "any-key";
const WITH_KEY = /^(\S+ )?any-key$/;

/** @typedef {any} Exchange an exchange of the journal, whole */

/**
 * The headers to send again. Secrets are masked in the journal, so another one replaces them.
 * @param {Exchange} exchange @returns {Record<string, string>}
 */
function headersOf(exchange) {
  /** @type {Record<string, string>} */
  const headers = {};
  for (const [name, value] of Object.entries(exchange.request.headers)) {
    if (OWN.has(name) || name === "cookie" || name.startsWith("sec-") || name.startsWith("x-forwarded-") || name === "x-mockserver-namespace") continue;
    headers[name] = String(value).replaceAll(MASKED, ANY_KEY);
  }
  if (exchange.namespace) headers["x-mockserver-namespace"] = exchange.namespace;
  return headers;
}

/** A path at which this server answers as it did. @param {Exchange} exchange @param {string[]} served */
export function pathOf(exchange, served) {
  const { dialect, path, request } = exchange;
  const foreign = dialect && request.headers.host !== location.host && !path.startsWith(`/${dialect}/`);
  const known = foreign && served.includes(`/${dialect}${path}`) ? `/${dialect}${path}` : path;
  return known + (request.query ? `?${request.query.replaceAll(MASKED, ANY_KEY)}` : "");
}

export const servedPaths = async () => (await get(`${ADMIN}/routes`)).routes.map((route) => route.path);

/** @param {any} message a request or an answer @returns {string | undefined} the body as it came, but for the layout of JSON */
function bodyText({ body, body_text: exact }) {
  return body === "" || body === undefined ? undefined : typeof body === "string" ? body : exact ?? JSON.stringify(body);
}

/** @param {Exchange} exchange @param {string} path */
export function asCurl(exchange, path) {
  const lines = [`curl -N ${exchange.method === "POST" ? "" : `-X ${exchange.method} `}${quoted(location.origin + PREFIX + path)}`];
  for (const [name, value] of Object.entries(headersOf(exchange))) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  const packed = exchange.request.body_base64;
  if (packed) return `printf %s ${quoted(packed)} | base64 -d | ${[...lines, "--data-binary @-"].join(" \\\n  ")}\n`;
  const body = bodyText(exchange.request);
  return `${[...lines, ...(body === undefined ? [] : [`--data-binary ${quoted(body)}`])].join(" \\\n  ")}\n`;
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A test that sends the same request and gets the same answer. @param {Exchange} exchange @param {string} path */
export function asPytest(exchange, path) {
  const said = setUp(exchange);
  const name = `${exchange.dialect ?? "request"}_${exchange.operation ?? exchange.number}`.replace(/\W/g, "_");
  const headers = { ...headersOf(exchange) };
  delete headers["x-mockserver-namespace"];
  const content = sent(exchange.request);
  const parts = [
    `    answer = httpx.request(`,
    `        ${python(exchange.method)},`,
    `        mockserver.url + ${python(path)},`,
    ...(Object.keys(headers).length ? [`        headers=${keyed(headers)},`] : []),
    ...(content ? [`        ${content},`] : []),
    `    )`,
  ];
  const broken = exchange.answer.ending;
  const asked = broken ? ["    with pytest.raises(httpx.TransportError):", ...parts.map((line) => `    ${line}`)] : [...parts, `    assert answer.status_code == ${exchange.status}`];
  const imports = `${exchange.request.body_base64 ? "import base64\n\n" : ""}import httpx\n${broken ? "import pytest\n" : ""}`;
  return `${imports}\n\ndef test_${name}(mockserver):\n${said.map((line) => `    ${line}\n`).join("")}${asked.join("\n")}\n`;
}

/** The argument for a body in Python. @param {any} request */
function sent(request) {
  const { body, body_text: exact, body_base64: packed } = request;
  if (packed) return `content=base64.b64decode(${python(packed)})`;
  const text = bodyText(request);
  if (text === undefined) return "";
  return typeof body === "string" || exact ? `content=${python(text)}.encode()` : `json=${python(body, 8)}`;
}

/** The setup of the test: faults or a reply, unless the request's own headers ask for them. @param {Exchange} exchange @returns {string[]} */
function setUp(exchange) {
  const { dialect, operation, decision, request, seed } = exchange;
  if (!dialect || !operation) return [];
  const on = `mockserver.on(dialect=${python(dialect)}, operation=${python(operation)})`;
  const faults = decision.applied_faults.filter(({ by }) => by !== "header");
  if (faults.length) return [on + faults.map(({ fault: { kind, ...settings } }) => `.fault(${[python(kind), ...named(settings)].join(", ")})`).join("")];
  if (decision.applied_faults.length || request.headers["x-mockserver-reply"] || decision.by !== "generation" || isSilent(exchange)) return [];
  if (differ(exchange)) return [VARIED, ...(Number.isSafeInteger(seed) ? [`${on}.seed(${seed}).reply()`] : [])];
  const { text, ...more } = replyOf(exchange);
  return [`${on}.reply(${[...(text === undefined ? [] : [python(text)]), ...named(more)].join(", ")})`];
}

/** Whether its model generates no text, as for embeddings, which do not depend on the seed. @param {Exchange} exchange */
function isSilent({ decision, planned }) {
  return decision.by === "generation" && planned?.finish_reasons.length === 0;
}

// An exchange does not tell which of its choices calls a tool.
const VARIED = "# The choices differ: they are generated from the same seed.";

/** Whether an answer has several choices that were generated. @param {Exchange} exchange */
function differ({ decision, planned, request }) {
  return decision.by === "generation" && !decision.rule && !request.headers["x-mockserver-reply"] && planned?.finish_reasons.length > 1;
}

/** Named arguments in Python. @param {Record<string, any>} table */
const named = (table) => Object.entries(table).filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${python(value, 4)}`);

/** Headers in Python, with the API key of the fixture. @param {Record<string, string>} headers */
function keyed(headers) {
  const items = Object.entries(headers).map(([name, value]) => `${python(name)}: ${WITH_KEY.test(value) ? keyLiteral(value) : python(value)}`);
  return `{${items.join(", ")}}`;
}

/** @param {string} value */
function keyLiteral(value) {
  const scheme = value.slice(0, -ANY_KEY.length).trim();
  return scheme ? `f"${scheme} {mockserver.api_key}"` : "mockserver.api_key";
}

/** A value as Python code, on several lines if one would be long. @param {any} value @param {number} [indent] @returns {string} */
function python(value, indent = 0) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const items = list ? value.map((each) => python(each, indent + 4)) : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${python(each, indent + 4)}`);
  const [open, close] = list ? "[]" : "{}";
  const line = open + items.join(", ") + close;
  if (indent + line.length < 100 && !line.includes("\n")) return line;
  const pad = " ".repeat(indent);
  return `${open}\n${items.map((item) => `${pad}    ${item},\n`).join("")}${pad}${close}`;
}

/** @param {Exchange} exchange */
export function asStub(exchange) {
  const { dialect, decision, seed } = exchange;
  if (!dialect || decision.by === "simulator_error") throw new Error("No stub can give this answer, which is mockserver's own.");
  const faults = decision.applied_faults.length ? decision.applied_faults.map(({ fault }) => fault) : undefined;
  const varied = !faults && differ(exchange);
  const table = {
    name: `${dialect}-${exchange.number}`,
    ...matchOf(exchange),
    reply: faults || varied || isMissed(exchange) ? undefined : replyOf(exchange),
    seed: (varied || isMissed(exchange)) && Number.isSafeInteger(seed) ? seed : undefined,
    faults,
  };
  return `${varied ? `${VARIED}\n` : ""}[[stub]]\n${tomlLines(table)}`;
}

/** Whether it was refused since no stub matched, which a stub can change. @param {Exchange} exchange */
const isMissed = ({ decision, status }) => decision.by === "refusal" && decision.unmatched && status === 404;

/**
 * What tells the request from others. A refusal or a fault is for this request alone, so for all of its body; if TOML
 * cannot hold that, or there is none, for what is left, and once.
 * @param {Exchange} exchange @returns {Record<string, any>}
 */
function matchOf(exchange) {
  const { dialect, operation, method, path, prompt, decision, request, status } = exchange;
  const there = { dialect, method, path: path.startsWith(`/${dialect}/`) ? path.slice(dialect.length + 1) : path };
  const target = operation ? { dialect, operation } : there;
  const known = { ...target, ...(prompt && { last_user: prompt }) };
  if (isMissed(exchange) || (decision.by !== "refusal" && !decision.applied_faults.length && status < 400)) return { match: known };
  const { body = "", body_base64: packed } = request;
  if (body === "" && !packed) return { match: there, times: 1 };
  if (typeof body === "object" && isWritable(body)) return { match: { ...target, body: { $: { equals: body } } } };
  const fields = typeof body === "object" ? Object.entries(body ?? {}).filter(([name, value]) => isWritable(value) && !name.includes("'")) : [];
  if (!fields.length) throw new Error("No stub can tell this request from others; the dialect refuses its body anyway.");
  return { match: { ...known, body: Object.fromEntries(fields.map(([name, value]) => [`$['${name}']`, { equals: value }])) }, times: 1 };
}

/** The answer as a stub's reply. @param {Exchange} exchange @returns {Record<string, any>} */
function replyOf(exchange) {
  // What the model generated, even if the client left before it was sent.
  const { decision, answer, planned } = exchange;
  if (decision.by === "refusal") return { error: decision.kind };
  if (decision.by !== "generation" || isSilent(exchange)) return { status: answer.status, ...givenBody(answer) };
  const reasoning = thoughtBy(answer) || undefined;
  if (planned?.tool_calls.length) return { tool_calls: planned.tool_calls.map(({ name, arguments: given }) => ({ name, arguments: parsed(given) })), reasoning };
  const [reason] = planned?.finish_reasons ?? [];
  return { text: saidBy(answer), reasoning, ...(reason && reason !== "stop" && { finish_reason: reason }) };
}

/** A body for a stub: JSON that TOML cannot hold, or that would be rounded, becomes a string. @param {any} answer */
function givenBody(answer) {
  if (answer.body_base64) return { body_base64: answer.body_base64, content_type: answer.headers["content-type"] };
  return { body: isWritable(answer.body) && !answer.body_text ? answer.body : bodyText(answer) ?? "" };
}

/** The arguments of a call as a table, or as a string if a table would change them. @param {string} text */
function parsed(text) {
  const value = json(text);
  const changed = typeof value !== "object" || !isWritable(value) || /\d{16}/.test(text);
  return changed ? text : value;
}

/** Send the request once more; its answer is in the journal. @param {Exchange} exchange @param {string} path */
export async function replay(exchange, path) {
  const headers = headersOf(exchange);
  if (space.name) headers["x-mockserver-namespace"] = space.name;
  const packed = exchange.request.body_base64;
  const body = packed ? Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)) : bodyText(exchange.request);
  const bodiless = exchange.method === "GET" || exchange.method === "HEAD";
  const answer = await fetch(PREFIX + path, { method: exchange.method, headers, body: bodiless ? undefined : body, cache: "no-store" });
  const reader = answer.body?.getReader();
  while (reader && !(await reader.read()).done);
  return answer.status;
}
