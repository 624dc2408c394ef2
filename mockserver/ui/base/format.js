/** Numbers and texts, formatted for people. */

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds === 0) return "0 ms";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 100 ? `${seconds.toFixed(2)} s` : `${Math.round(seconds)} s`;
}

/** The colour of a status. @param {number} status */
export const gradeOf = (status) => (status >= 500 ? "bad" : status >= 400 ? "warn" : "good");

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number} at Unix seconds */
export function clockTime(at) {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

/** @param {string} text @param {number} most */
export function shortened(text, most) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
