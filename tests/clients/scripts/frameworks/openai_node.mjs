// The openai client for Node.js: chats, responses and embeddings. (Its class for Azure prefers OPENAI_BASE_URL.)
import OpenAI from "openai";

const question = "What is the weather in Oslo?";
const messages = [{ role: "user", content: question }];
const town = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const tools = [{ type: "function", function: { name: "get_weather", parameters: town } }];
const client = new OpenAI();
const chat = async (more) => (await client.chat.completions.create({ model: "gpt-4o", messages, ...more })).choices[0].message;
const parts = [];
for await (const chunk of await client.chat.completions.create({ model: "gpt-4o", messages, stream: true })) {
  parts.push(chunk.choices[0]?.delta.content ?? "");
}
console.log(
  JSON.stringify({
    plain: (await chat({})).content,
    streamed: parts.join(""),
    tool: JSON.parse((await chat({ tools })).tool_calls[0].function.arguments),
    responses: (await client.responses.create({ model: "gpt-5.4", input: question })).output_text,
    embeddings: (await client.embeddings.create({ model: "text-embedding-3-small", input: question })).data[0].embedding.length,
  }),
);
