// The AI SDK with OpenAI's provider.
import { openai } from "@ai-sdk/openai";
import { embed, generateText, streamText, tool } from "ai";
import { z } from "zod";

const prompt = "What is the weather in Oslo?";
const weather = tool({ description: "Tells the weather in a town", inputSchema: z.object({ town: z.string() }) });
const streaming = streamText({ model: openai.chat("gpt-4o"), prompt });
const parts = [];
for await (const part of streaming.textStream) parts.push(part);
const called = await generateText({ model: openai.chat("gpt-4o"), prompt, tools: { weather } });
console.log(
  JSON.stringify({
    plain: (await generateText({ model: openai.chat("gpt-4o"), prompt })).text,
    streamed: parts.join(""),
    tool: called.toolCalls[0].input,
    responses: (await generateText({ model: openai("gpt-5.4"), prompt })).text,
    embeddings: (await embed({ model: openai.embedding("text-embedding-3-small"), value: prompt })).embedding.length,
  }),
);
