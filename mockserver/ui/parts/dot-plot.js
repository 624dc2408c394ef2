/** A distribution as a quantile dot plot: a hundred dots for a hundred answers. */

import { h, svg } from "../base/dom.js";
import { duration } from "../base/format.js";

const WIDTH = 320;
const HEIGHT = 96;
const RADIUS = 3;

/** @param {string} what @param {number[]} quantiles a hundred, in seconds, in order */
export function dots(what, quantiles) {
  const most = Math.max(quantiles[97] * 1.15, 1e-6);
  const median = (quantiles[49] + quantiles[50]) / 2;
  const x = (seconds) => 6 + (Math.min(seconds, most) / most) * (WIDTH - 12);
  const said = `${what}: median ${duration(median)}, nine in ten below ${duration(quantiles[89])}, the slowest of a hundred ${duration(quantiles[99])}`;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 18}`, role: "img", "aria-label": said });
  picture.append(svg("line", { x1: 0, y1: HEIGHT + 0.5, x2: WIDTH, y2: HEIGHT + 0.5 }));
  picture.append(svg("line", { class: "middle", x1: x(median), y1: 0, x2: x(median), y2: HEIGHT }));
  const columns = new Map();
  for (const quantile of quantiles) {
    const column = Math.round(x(quantile) / (2 * RADIUS + 0.4));
    columns.set(column, [...(columns.get(column) ?? []), quantile]);
  }
  const highest = Math.max(...[...columns.values()].map((column) => column.length));
  const step = Math.min(2 * RADIUS + 0.2, (HEIGHT - 6) / highest);
  for (const [column, members] of columns) {
    members.forEach((_, index) => picture.append(svg("circle", { cx: column * (2 * RADIUS + 0.4), cy: HEIGHT - RADIUS - 1 - index * step, r: RADIUS })));
  }
  picture.append(svg("text", { x: 0, y: HEIGHT + 14 }, "0"), svg("text", { x: WIDTH, y: HEIGHT + 14, "text-anchor": "end" }, quantiles[99] > most ? `${duration(most)} or more` : duration(most)));
  return h("figure", null, h("figcaption", null, said), picture);
}
