// The AI SDK's providers for Anthropic, Cerebras and whoever is compatible: they take a base URL with the version.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createCerebras } from "@ai-sdk/cerebras";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const prompt = "What is the weather in Oslo?";
const anthropic = createAnthropic({ baseURL: `${process.env.ANTHROPIC_BASE_URL}/v1` });
const cerebras = createCerebras({ baseURL: process.env.CEREBRAS_API_BASE });
const compatible = createOpenAICompatible({
  name: "any",
  baseURL: process.env.OPENAI_BASE_URL,
  apiKey: process.env.OPENAI_API_KEY,
});
const streaming = streamText({ model: anthropic("claude-sonnet-5"), prompt });
const parts = [];
for await (const part of streaming.textStream) parts.push(part);
console.log(
  JSON.stringify({
    plain: (await generateText({ model: compatible("gpt-4o"), prompt })).text,
    anthropic: (await generateText({ model: anthropic("claude-sonnet-5"), prompt })).text,
    "anthropic streamed": parts.join(""),
    cerebras: (await generateText({ model: cerebras("gpt-oss-120b"), prompt })).text,
  }),
);
