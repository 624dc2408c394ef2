/** An exchange in other forms: a curl command, a test, a stub, and the same request once more. */

import { saidBy } from "../base/says.js";
import { tomlLines } from "../base/toml.js";
import { ADMIN, get, space } from "../base/api.js";

// Headers that whoever sends the request again sets himself.
const OWN = new Set(["host", "content-length", "connection", "accept", "accept-encoding", "accept-language", "user-agent", "origin", "referer", "transfer-encoding", "dnt", "priority", "pragma", "cache-control", "te"]);
const SECRET = new Set(["authorization", "x-api-key", "api-key", "x-goog-api-key"]);
const ANY_KEY = "any-key";

/** @typedef {any} Exchange an exchange of the journal, whole */

/**
 * The headers to send again. Keys are hidden in the journal: another one stands for them.
 * @param {Exchange} exchange @returns {Record<string, string>}
 */
export function headersOf(exchange) {
  /** @type {Record<string, string>} */
  const headers = {};
  for (const [name, value] of Object.entries(exchange.request.headers)) {
    if (OWN.has(name) || name === "cookie" || name.startsWith("sec-") || name.startsWith("x-forwarded-") || name === "x-mockserver-namespace") continue;
    headers[name] = SECRET.has(name) ? String(value).replace(/\S*\*{4}\S*$/, ANY_KEY) : String(value);
  }
  if (exchange.namespace) headers["x-mockserver-namespace"] = exchange.namespace;
  return headers;
}

/** The path at which this server is sure to answer as it did. @param {Exchange} exchange @param {string[]} served */
export function pathOf(exchange, served) {
  const { dialect, path, request } = exchange;
  const foreign = dialect && request.headers.host !== location.host && !path.startsWith(`/${dialect}/`);
  const known = foreign && served.includes(`/${dialect}${path}`) ? `/${dialect}${path}` : path;
  return known + (request.query ? `?${request.query}` : "");
}

export const servedPaths = async () => (await get(`${ADMIN}/routes`)).routes.map((route) => route.path);

/** @param {Exchange} exchange @returns {string | undefined} the body as it came, but for the layout of JSON */
function bodyText(exchange) {
  const { body } = exchange.request;
  return body === "" || body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
}

/** @param {Exchange} exchange @param {string} path */
export function asCurl(exchange, path) {
  const lines = [`curl -N ${exchange.method === "POST" ? "" : `-X ${exchange.method} `}${quoted(location.origin + path)}`];
  for (const [name, value] of Object.entries(headersOf(exchange))) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  const packed = exchange.request.body_base64;
  if (packed) return `printf %s ${quoted(packed)} | base64 -d | ${[...lines, "--data-binary @-"].join(" \\\n  ")}\n`;
  const body = bodyText(exchange);
  return `${[...lines, ...(body === undefined ? [] : [`--data-binary ${quoted(body)}`])].join(" \\\n  ")}\n`;
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A test that asks for the same and gets the same. @param {Exchange} exchange @param {string} path */
export function asPytest(exchange, path) {
  const said = onLine(exchange);
  const name = `${exchange.dialect ?? "request"}_${exchange.operation ?? exchange.number}`.replace(/\W/g, "_");
  const headers = { ...headersOf(exchange) };
  delete headers["x-mockserver-namespace"];
  const { body } = exchange.request;
  const parts = [
    `    answer = httpx.request(`,
    `        ${python(exchange.method)},`,
    `        mockserver.url + ${python(path)},`,
    ...(Object.keys(headers).length ? [`        headers=${keyed(headers)},`] : []),
    ...(body === undefined || body === "" ? [] : [`        ${typeof body === "string" ? "content" : "json"}=${typeof body === "string" ? `${python(body)}.encode()` : python(body, 8)},`]),
    `    )`,
  ];
  const broken = exchange.answer.ending;
  const asked = broken ? ["    with pytest.raises(httpx.TransportError):", ...parts.map((line) => `    ${line}`)] : [...parts, `    assert answer.status_code == ${exchange.status}`];
  const imports = broken ? "import httpx\nimport pytest\n" : "import httpx\n";
  return `${imports}\n\ndef test_${name}(mockserver):\n${said ? `    ${said}\n` : ""}${asked.join("\n")}\n`;
}

/** What is set up: a fault, a refusal, or what was said. @param {Exchange} exchange */
function onLine(exchange) {
  const { dialect, operation, decision } = exchange;
  if (!dialect || !operation) return "";
  const on = `mockserver.on(dialect=${python(dialect)}, operation=${python(operation)})`;
  if (decision.faults.length) return `${on}${decision.faults.map((kind) => `.fault(${python(kind)})`).join("")}`;
  return decision.by === "generation" ? `${on}.reply(${python(saidBy(exchange.answer))})` : "";
}

/** Headers in Python, the key being that of the fixture. @param {Record<string, string>} headers */
function keyed(headers) {
  const items = Object.entries(headers).map(([name, value]) => `${python(name)}: ${SECRET.has(name) ? keyLiteral(value) : python(value)}`);
  return `{${items.join(", ")}}`;
}

/** @param {string} value */
function keyLiteral(value) {
  const scheme = value.slice(0, -ANY_KEY.length).trim();
  return scheme ? `f"${scheme} {mockserver.api_key}"` : "mockserver.api_key";
}

/** A value as Python writes it, over several lines where one would be long. @param {any} value @param {number} [indent] @returns {string} */
export function python(value, indent = 0) {
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
  const { dialect, operation, prompt, decision, answer } = exchange;
  const faults = decision.faults.length ? decision.faults.map((kind) => ({ kind })) : undefined;
  const table = {
    name: `${dialect ?? "exchange"}-${exchange.number}`,
    match: { dialect, operation, ...(prompt && { last_user: prompt }) },
    reply: faults ? undefined : replyOf(decision, answer, exchange),
    faults,
  };
  return `[[stub]]\n${tomlLines(table)}`;
}

/** @param {any} decision @param {any} answer @param {Exchange} exchange */
function replyOf(decision, answer, exchange) {
  if (decision.by === "refusal") return { error: decision.kind };
  if (decision.by !== "generation") return { status: answer.status, body: answer.body ?? "" };
  if (exchange.tool_calls?.length) return { tool_calls: exchange.tool_calls.map(({ name, arguments: given }) => ({ name, arguments: parsed(given) })) };
  const [reason] = exchange.finish_reasons ?? [];
  return { text: saidBy(answer), ...(reason && reason !== "stop" && { finish_reason: reason }) };
}

/** @param {any} given a call's arguments, as JSON or in a text */
function parsed(given) {
  try {
    return typeof given === "string" ? JSON.parse(given) : given;
  } catch {
    return given;
  }
}

/** Send the request once more; its answer is in the journal. @param {Exchange} exchange @param {string} path */
export async function replay(exchange, path) {
  const headers = headersOf(exchange);
  if (space.name) headers["x-mockserver-namespace"] = space.name;
  const packed = exchange.request.body_base64;
  const body = packed ? Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)) : bodyText(exchange);
  const bodiless = exchange.method === "GET" || exchange.method === "HEAD";
  const answer = await fetch(path, { method: exchange.method, headers, body: bodiless ? undefined : body, cache: "no-store" });
  const reader = answer.body?.getReader();
  while (reader && !(await reader.read()).done);
  return answer.status;
}
