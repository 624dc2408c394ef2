/** Values as TOML, as in config files. */

/** @param {unknown} value @returns {string} */
export function tomlValue(value) {
  if (typeof value === "string") return text(value);
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : text(String(value));
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.filter(isSaid).map(tomlValue).join(", ")}]`;
  const pairs = Object.entries(/** @type {object} */ (value)).filter(([, item]) => isSaid(item));
  return pairs.length ? `{ ${pairs.map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}`).join(", ")} }` : "{}";
}

/** @param {Record<string, unknown>} table @returns {string} one line for each key */
export function tomlLines(table) {
  const pairs = Object.entries(table).filter(([, item]) => isSaid(item));
  return pairs.map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}\n`).join("");
}

/** Whether TOML can hold all of a value: it has no null. @param {unknown} value @returns {boolean} */
export function isWritable(value) {
  return isSaid(value) && (typeof value !== "object" || Object.values(/** @type {object} */ (value)).every(isWritable));
}

/** @param {unknown} value */
const isSaid = (value) => value !== null && value !== undefined;

/** @param {string} key */
const tomlKey = (key) => (/^[\w-]+$/.test(key) ? key : text(key));

/** TOML's basic strings are those of JSON, except for two characters. @param {string} value */
function text(value) {
  return JSON.stringify(value).replace(/\u007f/g, "\\u007f");
}
