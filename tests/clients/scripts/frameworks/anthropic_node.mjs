// Anthropic's client for Node.js.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const asked = {
  model: "claude-sonnet-5",
  max_tokens: 200,
  messages: [{ role: "user", content: "What is the weather in Oslo?" }],
};
const town = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const plain = await client.messages.create(asked);
const streamed = await client.messages.stream(asked).finalText();
const called = await client.messages.create({ ...asked, tools: [{ name: "get_weather", input_schema: town }] });
console.log(
  JSON.stringify({
    plain: plain.content[0].text,
    streamed,
    tool: called.content.find((block) => block.type === "tool_use").input,
  }),
);
