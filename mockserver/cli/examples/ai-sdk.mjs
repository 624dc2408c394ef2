import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";

const mock = createOpenAICompatible({ name: "mock", baseURL: "<url>/v1", apiKey: "any-key" });
const { textStream } = streamText({ model: mock("gpt-5.4-mini"), prompt: "Hello" });
for await (const text of textStream) console.log(text);
