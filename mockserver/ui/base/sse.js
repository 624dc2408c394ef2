/** Server-sent events, read from a response's body as it arrives. */

/** @typedef {{event: string, data: string, raw: string}} ServerEvent */

const BORDER = /\r\n\r\n|\n\n|\r\r/;

/**
 * The events of a stream, one by one; last, any rest that does not end with an empty line.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* serverEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      buffer += decoder.decode(value, { stream: !done });
      for (let border = BORDER.exec(buffer); border; border = BORDER.exec(buffer)) {
        const end = border.index + border[0].length;
        yield parsed(buffer.slice(0, end));
        buffer = buffer.slice(end);
      }
      if (done) break;
    }
    if (buffer) yield parsed(buffer);
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} raw @returns {ServerEvent} */
function parsed(raw) {
  let event = "message";
  const data = [];
  for (const line of raw.split(/\r\n|\n|\r/)) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line.startsWith("event:")) event = line.slice(6).trim();
  }
  return { event, data: data.join("\n"), raw };
}
