/** The admin API of the chosen namespace. The token is kept until the tab is closed. */

const TOKEN = "mockserver-token";
export const ADMIN = "/_mockserver";
/** What a proxy puts in front of the server's paths; mostly nothing. */
export const PREFIX = location.pathname.slice(0, Math.max(location.pathname.lastIndexOf(`${ADMIN}/ui/`), 0));

/** A failed request, with the server's message. `status` is 0 if there was no answer. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  /** @param {string} value */
  set: (value) => sessionStorage.setItem(TOKEN, value),
};

export const space = {
  name: spaceNamed(new URLSearchParams(location.search).get("ns") ?? ""),
};

/** A name that a namespace can have: this one, with hyphens for what none can contain. @param {string} name */
export function spaceNamed(name) {
  return name.trim().replace(/[\s/?#]+/g, "-").slice(0, 200);
}

/** @param {string} path */
export function inSpace(path) {
  return space.name ? `${ADMIN}/ns/${encodeURIComponent(space.name)}${path}` : ADMIN + path;
}

/**
 * An answer of the admin API; throws ApiError unless it is a success.
 * @param {string} method
 * @param {string} path with ADMIN in front
 * @param {unknown} [body] is sent as JSON
 * @param {AbortSignal} [signal]
 */
export async function ask(method, path, body, signal) {
  const headers = { ...(token.get() && { authorization: `Bearer ${token.get()}` }), ...(body !== undefined && { "content-type": "application/json" }) };
  let answer;
  try {
    answer = await fetch(PREFIX + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/** @param {Response} answer */
async function refusal(answer) {
  const text = await answer.text();
  let message = text;
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // Anything but JSON is shown as it is.
  }
  if (answer.status === 401) dispatchEvent(new CustomEvent("token-wanted"));
  return new ApiError(answer.status, message || `HTTP ${answer.status}`);
}

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await ask("GET", path)).json();
/** The same with exact integers: those that a double cannot hold are BigInts. @param {string} path @returns {Promise<any>} */
export const getExactly = async (path) => exactly(await (await ask("GET", path)).text());
/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
export const post = async (path, body) => (await ask("POST", path, body)).json();
/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export const patch = async (path, body) => (await ask("PATCH", path, body)).json();
/** @param {string} path @returns {Promise<any>} */
export const remove = async (path) => (await ask("DELETE", path)).json();

/** @param {string} text JSON */
function exactly(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"\\u0000${token}"` : token));
  return JSON.parse(marked, (_, value) => (typeof value === "string" && /^\0-?\d+$/.test(value) ? BigInt(value.slice(1)) : value));
}
