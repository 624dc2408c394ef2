/** A list of any length, of which only the visible rows exist. All rows have one height; arrow keys move the choice. */

import { h, perFrame } from "../base/dom.js";

const SPARE = 6;

/**
 * @template Item
 * @typedef {{height: number, label: string, draw: (item: Item, element: HTMLElement) => void, key: (item: Item) => number,
 *   choose: (item: Item) => void, class?: string, sticky?: boolean}} Manner
 * `draw` makes an element show an item; elements are reused. `sticky`: new items appear at the top, but a scrolled
 * list keeps its position.
 */

/** @template Item */
export class VirtualList {
  /** @type {Item[]} */
  #items = [];
  /** @type {Map<number, {element: HTMLElement, item: Item}>} by index */
  #shown = new Map();
  /** @type {HTMLElement[]} */
  #idle = [];
  /** @type {number | null} */
  #chosen = null;
  #draw = perFrame(() => this.#paint());
  #name = `list-${Math.random().toString(36).slice(2, 8)}`;

  /** @param {Manner<Item>} manner */
  constructor(manner) {
    this.manner = manner;
    this.room = h("div", { class: "room", role: "none" });
    this.element = h("div", {
      class: `virtual ${manner.class ?? ""}`, role: "listbox", tabindex: "0", "aria-label": manner.label,
      onscroll: this.#draw, onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event),
    }, this.room);
    new ResizeObserver(this.#draw).observe(this.element);
  }

  /** @param {Item[]} items */
  set items(items) {
    const before = this.#items;
    this.#items = items;
    this.room.style.height = `${items.length * this.manner.height}px`;
    if (this.manner.sticky && this.element.scrollTop > 4 && before.length) this.#stay(before);
    this.#paint();
  }

  get items() {
    return this.#items;
  }

  /** @param {number | null} key */
  set chosen(key) {
    this.#chosen = key;
    this.#paint();
  }

  /** How many items are above the visible ones. */
  get above() {
    return Math.floor(this.element.scrollTop / this.manner.height);
  }

  toTop() {
    this.element.scrollTop = 0;
  }

  /** Keep the visible items in place after items were added above. @param {Item[]} before */
  #stay(before) {
    const { key, height } = this.manner;
    const anchor = before[Math.min(this.above, before.length - 1)];
    const index = this.#items.findIndex((item) => key(item) === key(anchor));
    const was = before.indexOf(anchor);
    if (index > was) this.element.scrollTop += (index - was) * height;
  }

  #paint() {
    const { height } = this.manner;
    const first = Math.max(Math.floor(this.element.scrollTop / height) - SPARE, 0);
    const last = Math.min(Math.ceil((this.element.scrollTop + this.element.clientHeight) / height) + SPARE, this.#items.length);
    for (const [index, { element }] of this.#shown) {
      if (index >= first && index < last) continue;
      this.#shown.delete(index);
      this.#idle.push(element);
      element.remove();
    }
    for (let index = first; index < last; index += 1) this.#show(index);
    const at = this.#items.findIndex((item) => this.manner.key(item) === this.#chosen);
    const active = this.#shown.get(at);
    if (active) this.element.setAttribute("aria-activedescendant", active.element.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** @param {number} index */
  #show(index) {
    const item = this.#items[index];
    const shown = this.#shown.get(index);
    const element = shown?.element ?? this.#idle.pop() ?? h("div", { role: "option" });
    if (shown?.item !== item) {
      element.id = `${this.#name}-${this.manner.key(item)}`;
      this.manner.draw(item, element);
      element.classList.add("item");
      element.style.transform = `translateY(${index * this.manner.height}px)`;
      element.setAttribute("aria-posinset", String(index + 1));
      this.#shown.set(index, { element, item });
    }
    element.setAttribute("aria-setsize", String(this.#items.length));
    element.setAttribute("aria-selected", String(this.manner.key(item) === this.#chosen));
    if (!element.isConnected) this.room.append(element);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const row = event.composedPath().find((each) => each instanceof HTMLElement && each.classList.contains("item"));
    for (const { element, item } of this.#shown.values()) if (element === row) this.#choose(item);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const page = Math.max(Math.floor(this.element.clientHeight / this.manner.height) - 1, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step === undefined || !this.#items.length) return;
    event.preventDefault();
    const at = this.#items.findIndex((item) => this.manner.key(item) === this.#chosen);
    const next = Math.min(Math.max(at < 0 ? 0 : at + step, 0), this.#items.length - 1);
    this.reveal(next);
    this.#choose(this.#items[next]);
  }

  /** @param {number} index */
  reveal(index) {
    const { height } = this.manner;
    const { scrollTop, clientHeight } = this.element;
    if (index * height < scrollTop) this.element.scrollTop = index * height;
    else if ((index + 1) * height > scrollTop + clientHeight) this.element.scrollTop = (index + 1) * height - clientHeight;
  }

  /** @param {Item} item */
  #choose(item) {
    this.chosen = this.manner.key(item);
    this.manner.choose(item);
  }
}
