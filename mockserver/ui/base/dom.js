/** Elements, built from values: text is added as text, never as markup. */

/** @typedef {Node | string | number | false | null | undefined} Child */

/**
 * An element with properties and children. `class`, `for` and names with a dash or a capital-free attribute become
 * attributes; `on...` are listeners; `data` and `style` are objects.
 * @param {string} name
 * @param {Record<string, any> | null} [properties]
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function h(name, properties, ...children) {
  return furnished(document.createElement(name), properties, children);
}

/** The same for a part of a drawing in SVG. @param {string} name @param {Record<string, any> | null} [properties] @param {...(Child | Child[])} children @returns {any} */
export function svg(name, properties, ...children) {
  return furnished(document.createElementNS("http://www.w3.org/2000/svg", name), properties, children);
}

/** @param {any} element @param {Record<string, any> | null | undefined} properties @param {any[]} children */
function furnished(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key === "style") for (const [name, wanted] of Object.entries(value)) element.style.setProperty(name, String(wanted));
    else if (key === "value" || key === "checked" || key === "disabled" || key === "open") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * Replace an element's children; return the element.
 * @template {Element} E
 * @param {E} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** @param {Element} element @param {any[]} children */
function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * A select with its options: strings, or values with their texts.
 * @param {Record<string, any>} properties
 * @param {(string | [string, string])[]} options
 * @param {string} [chosen]
 */
export function select(properties, options, chosen) {
  const pairs = options.map((option) => (typeof option === "string" ? [option, option] : option));
  const made = h("select", properties, pairs.map(([value, text]) => h("option", { value }, text)));
  if (chosen !== undefined) made.value = chosen;
  return made;
}

let fields = 0;

/**
 * A control with its label above and a hint below.
 * @param {string} label
 * @param {any} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  control.id ||= `field-${(fields += 1)}`;
  const small = hint ? h("small", { id: `${control.id}-hint` }, hint) : null;
  if (small) control.setAttribute("aria-describedby", small.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, small);
}

/**
 * Calls a function at most once per frame, however often it is requested.
 * @param {() => void} work
 */
export function perFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}
