/** The whole page: the bar, the three views, and the connection to the server. */

import { ADMIN, get, space, spaceNamed } from "./base/api.js";
import { fill, h, select } from "./base/dom.js";
import { Exchanges } from "./base/exchanges.js";
import { Live } from "./base/event-source.js";
import { askForToken } from "./parts/dialogs.js";
import { failure } from "./parts/states.js";
import { Controls } from "./views/controls.js";
import { Playground } from "./views/playground.js";
import { Traffic } from "./views/traffic.js";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const bar = /** @type {HTMLElement} */ (document.getElementById("bar"));
const NEW = "\u0000new";
const THEMES = ["system", "light", "dark"];
const WORDS = { connecting: "connecting", live: "live", lost: "not connected", closed: "token needed", resting: "paused" };

/** @param {string} name */
function theme(name) {
  localStorage.setItem("mockserver-theme", name);
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  dispatchEvent(new CustomEvent("theme"));
}

const exchanges = new Exchanges();
const link = h("span", { class: "link", role: "status", data: { state: "connecting" } }, "connecting");
const live = new Live(exchanges, (state, why) => {
  link.dataset.state = state;
  link.textContent = WORDS[state];
  link.title = why ?? "";
  if (state === "live" && !views) start();
});

/** @type {Record<string, any> | null} */
let views = null;

const tabs = h("nav", { class: "tabs", "aria-label": "Views" }, ["traffic", "playground", "controls"].map((name) => h("a", { href: `#/${name}` }, name[0].toUpperCase() + name.slice(1))));
const spaces = select({ id: "space", class: "short", onchange: () => chooseSpace(spaces.value), onfocus: () => listSpaces() }, [[space.name, space.name || "default"]]);
const version = h("small");
const themes = select({ id: "theme", class: "short", onchange: () => theme(themes.value) }, THEMES, localStorage.getItem("mockserver-theme") ?? "system");
fill(bar,
  h("h1", { class: "brand" }, h("img", { src: "icon.svg", alt: "" }), h("span", null, "mockserver"), version),
  tabs,
  h("div", { class: "end" }, link, h("label", { class: "inline", for: "space" }, "Namespace", spaces), h("label", { class: "inline", for: "theme" }, h("span", { class: "hidden" }, "Theme"), themes)),
);

async function listSpaces() {
  try {
    const { namespaces } = await get(`${ADMIN}/namespaces`);
    const names = new Set(["", space.name, ...namespaces.map((each) => each.name)]);
    fill(spaces, [...names].map((value) => h("option", { value }, value || "default")), h("option", { value: NEW }, "another one…"));
    spaces.value = space.name;
  } catch {
    // The bar already shows that the connection is lost or that a token is needed.
  }
}

/** @param {string} name */
function chooseSpace(name) {
  space.name = spaceNamed(name === NEW ? (prompt("Name of the namespace") ?? space.name) : name);
  const url = new URL(location.href);
  if (space.name) url.searchParams.set("ns", space.name);
  else url.searchParams.delete("ns");
  history.replaceState(null, "", url);
  views?.traffic.leave();
  exchanges.replace([]);
  live.start();
  listSpaces();
  show();
}

async function start() {
  try {
    const [known, about] = await Promise.all([get(`${ADMIN}/catalogue`), get(`${ADMIN}/version`)]);
    views ??= { traffic: new Traffic(exchanges, known.dialects.map((each) => each.name)), playground: new Playground(known), controls: new Controls(known) };
    version.textContent = about.version;
    show();
    listSpaces();
  } catch (error) {
    fill(main, failure(/** @type {Error} */ (error), start));
  }
}

function show() {
  if (!views) return;
  const name = location.hash.slice(2).split("/")[0];
  const wanted = name in views ? name : "traffic";
  const view = views[wanted];
  for (const tab of tabs.children) {
    if (tab.hash === `#/${wanted}`) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  document.title = `${view.title} – mockserver`;
  if (!view.element.isConnected) fill(main, view.element);
  view.shown?.();
}

theme(themes.value);
addEventListener("hashchange", show);
addEventListener("token-wanted", () => askForToken(() => live.start()));
addEventListener("anew", () => live.start());
fill(main, h("p", { class: "state quiet" }, "Connecting to the server…"));
live.start();
