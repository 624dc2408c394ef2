/** The text and the thoughts in an answer's events or body, for all dialects. */

/** @param {any} document an event's data, or a whole body, as JSON */
export function textOf(document) {
  if (!document || typeof document !== "object") return "";
  if (document.event === "token_sampled") return document.text ?? "";
  if (document.event === "complete") return "";
  if (document.object === "response") return itemsOf(document).map(itemText).join("");
  if (String(document.type).startsWith("response.")) return typedText(document);
  if (document.content_block || document.type === "message") return (document.content ?? [document.content_block]).map(blockText).join("");
  if (document.type === "content_block_delta") return document.delta.text ?? document.delta.partial_json ?? "";
  return choicesOf(document).map(choiceText).join("");
}

/** The model's thoughts, if it shows them. @param {any} document an event's data, or a whole body, as JSON */
export function thoughtOf(document) {
  if (document?.object === "response") return itemsOf(document).filter((item) => item.type === "reasoning").map(itemThought).join("");
  if (THOUGHTS.includes(document?.type)) return document.delta ?? "";
  if (document?.type === "message") return document.content.map((block) => block.thinking ?? "").join("");
  if (document?.type === "content_block_delta") return document.delta.thinking ?? "";
  return choicesOf(document).map((choice) => choice.delta ?? choice.message).map((said) => said?.reasoning_content ?? said?.reasoning ?? "").join("");
}

const TEXTS = ["output_text", "refusal", "function_call_arguments", "custom_tool_call_input"].map((kind) => `response.${kind}.delta`);
const THOUGHTS = ["reasoning_text", "reasoning_summary_text"].map((kind) => `response.${kind}.delta`);

/** A typed event of the Responses API. @param {any} event */
function typedText(event) {
  if (TEXTS.includes(event.type)) return event.delta ?? "";
  // The first event of a call has its name; the arguments follow in pieces.
  return event.type === "response.output_item.added" && event.item?.name ? `\n${event.item.name} ` : "";
}

/** @param {any} response @returns {any[]} */
const itemsOf = (response) => response.output ?? [];

/** @param {any} item */
function itemText(item) {
  if (item.type === "message") return (item.content ?? []).map((part) => part.text ?? part.refusal ?? "").join("");
  return item.name ? `\n${item.name} ${item.arguments ?? item.input ?? ""}` : "";
}

/** @param {any} item */
function itemThought(item) {
  const told = item.content?.length ? item.content : (item.summary ?? []);
  return told.map((part) => part.text ?? "").join("");
}

/** A content block of the Messages API, whole or begun: the input of a begun call is still empty. @param {any} block */
function blockText(block) {
  if (block.type !== "tool_use") return block.text ?? "";
  return `\n${block.name} ${Object.keys(block.input).length ? JSON.stringify(block.input) : ""}`;
}

/** Of several choices the first is shown. @param {any} document @returns {any[]} */
function choicesOf(document) {
  return (document?.choices ?? []).filter((choice) => (choice.index ?? 0) === 0);
}

/** @param {any} choice */
function choiceText(choice) {
  const said = choice.delta ?? choice.message;
  if (!said) return choice.text ?? "";
  const calls = (said.tool_calls ?? []).map((call) => (call.function?.name ? `\n${call.function.name} ` : "") + (call.function?.arguments ?? ""));
  return (said.content ?? said.refusal ?? "") + calls.join("");
}

/** @param {string} data an event's data @returns {any} undefined when it is no JSON */
export function json(data) {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** The text of an exchange's answer, from the journal. @param {any} answer */
export const saidBy = (answer) => readIn(answer, textOf);

/** The thoughts before the text. @param {any} answer */
export const thoughtBy = (answer) => readIn(answer, thoughtOf);

/** @param {any} answer @param {(document: any) => string} read */
function readIn(answer, read) {
  if (!answer.events || answer.body) return read(answer.body);
  return answer.events.map((event) => read(json(dataOf(event.data)))).join("");
}

/** @param {unknown} event the event as it went out */
export function dataOf(event) {
  if (typeof event !== "string") return JSON.stringify(event);
  return event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
}
