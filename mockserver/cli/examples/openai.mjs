import OpenAI from "openai";

const client = new OpenAI({ baseURL: "<url>/v1", apiKey: "any-key", dangerouslyAllowBrowser: true });
const stream = await client.chat.completions.create({
  model: "gpt-5.4-mini",
  messages: [{ role: "user", content: "Hello" }],
  stream: true,
});
for await (const chunk of stream) console.log(chunk.choices[0]?.delta?.content ?? "");
