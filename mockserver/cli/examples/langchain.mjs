import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "gpt-5.4-mini",
  apiKey: "any-key",
  configuration: { baseURL: "<url>/v1" },
});
for await (const chunk of await model.stream("Hello")) console.log(chunk.content);
