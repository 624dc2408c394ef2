/** A form made from a contract: one control for each property of a request's JSON Schema. */

import { h, select } from "../base/dom.js";

/** @typedef {{name: string, control: any, read: () => unknown, description?: string}} Input `read` returns undefined if nothing is set */

/**
 * A schema's properties, including those of the schemas that it consists of.
 * @param {any} schema @param {any} document @returns {Record<string, any>}
 */
export function propertiesOf(schema, document) {
  const whole = resolved(schema, document);
  const parts = [...(whole.allOf ?? []), ...(whole.anyOf ?? []), ...(whole.oneOf ?? [])];
  return Object.assign({}, ...parts.map((part) => propertiesOf(part, document)), whole.properties ?? {});
}

/** @param {any} schema @param {any} document */
function resolved(schema, document) {
  if (!schema || typeof schema !== "object") return {};
  if (!schema.$ref) return schema;
  return resolved(document.components.schemas[schema.$ref.split("/").pop()], document);
}

/**
 * The inputs for all properties except some.
 * @param {any} schema @param {any} document @param {Set<string>} except @returns {Input[]}
 */
export function inputsOf(schema, document, except) {
  const properties = Object.entries(propertiesOf(schema, document)).filter(([name]) => !except.has(name));
  return properties.map(([name, property]) => ({ ...inputOf(name, resolved(property, document)), description: property?.description }));
}

/** @param {string} name @param {any} schema @returns {Input} */
function inputOf(name, schema) {
  const types = [schema.type ?? []].flat().filter((type) => type !== "null");
  if (schema.enum) return chosen(name, schema.enum.filter((each) => each !== null));
  if (types.length === 1 && types[0] === "boolean") return chosen(name, [true, false]);
  if (types.length === 1 && (types[0] === "integer" || types[0] === "number")) return figure(name, schema, types[0]);
  if (types.length === 1 && types[0] === "string") return text(name, schema);
  return anything(name, types.includes("string") || !types.length);
}

/** @param {string} name @param {any[]} values @returns {Input} */
function chosen(name, values) {
  const words = values.map((value) => /** @type {[string, string]} */ ([JSON.stringify(value), String(value)]));
  const control = select({ name }, [["", "not set"], ...words]);
  return { name, control, read: () => (control.value === "" ? undefined : JSON.parse(control.value)) };
}

/** @param {string} name @param {any} schema @param {string} type @returns {Input} */
function figure(name, schema, type) {
  const step = type === "integer" ? 1 : "any";
  const control = h("input", { name, type: "number", step, min: sane(schema.minimum), max: sane(schema.maximum), placeholder: schema.default ?? "not set" });
  // Values out of range may be sent, to see the vendor's refusal.
  return { name, control, read: () => (control.value === "" ? undefined : Number(control.value)) };
}

/** @param {number | undefined} bound */
const sane = (bound) => (bound === undefined || Math.abs(bound) > 1e9 ? undefined : bound);

/** @param {string} name @param {any} schema @returns {Input} */
function text(name, schema) {
  const control = h("input", { name, type: "text", placeholder: schema.default ?? "not set" });
  return { name, control, read: () => control.value || undefined };
}

/** Any JSON; other text counts as a string if strings are allowed. @param {string} name @param {boolean} texts @returns {Input} */
function anything(name, texts) {
  const control = h("input", { name, type: "text", class: "mono", placeholder: texts ? "text or JSON" : "JSON", spellcheck: "false" });
  const read = () => {
    if (control.value.trim() === "") return undefined;
    try {
      return JSON.parse(control.value);
    } catch {
      if (texts) return control.value;
      control.setAttribute("aria-invalid", "true");
      throw new Error(`${name}: ${control.value} is not valid JSON`);
    }
  };
  control.addEventListener("input", () => control.removeAttribute("aria-invalid"));
  return { name, control, read };
}
