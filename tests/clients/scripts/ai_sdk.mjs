// What the Vercel AI SDK sees: node ai_sdk.mjs URL prints it as JSON, by scenario.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [url] = process.argv.slice(2);
const PROMPT = "What's the weather in Oslo?";

const provider = (base) =>
  createOpenAICompatible({ name: "mock", baseURL: url + base, apiKey: "mock", includeUsage: true });
const MODELS = {
  cerebras: provider("/cerebras/v1").completionModel("llama3.1-8b"),
  gemma: provider("/cerebras/v1")("gemma-4-31b"),
  ovms: provider("/ovms/v3").completionModel("llama3"),
  friendli: provider("/friendli/serverless/v1").completionModel("zai-org/GLM-5.2"),
  upstash: provider("/upstash/llm/v1")("meta-llama/Meta-Llama-3-8B-Instruct"),
  yandexgpt: provider("/yandex/v1")("gpt://b1gmock/yandexgpt/latest"),
  qwen: provider("/yandex/v1")("gpt://b1gmock/qwen3-235b-a22b-fp8/latest"),
};
const TOOLS = {
  weather: tool({
    description: "Tells the weather in a town",
    inputSchema: z.object({ town: z.string() }),
    execute: async ({ town }) => `rain in ${town}`,
  }),
};

async function streamed(model, more = {}) {
  const errors = [];
  const answer = streamText({
    model, prompt: PROMPT, maxOutputTokens: 60, maxRetries: 0, onError: ({ error }) => errors.push(error.message), ...more,
  });
  let text = "";
  for await (const piece of answer.textStream) text += piece;
  return { text, finish: await answer.finishReason, tokens: (await answer.totalUsage).totalTokens ?? null, errors };
}

async function plain(model, more = {}) {
  const answer = await generateText({ model, prompt: PROMPT, maxOutputTokens: 60, maxRetries: 0, ...more });
  return { text: answer.text, finish: answer.finishReason, tokens: answer.totalUsage.totalTokens, steps: answer.steps };
}

const SCENARIOS = {
  answers: async (model) => ({ plain: await plain(model), streamed: await streamed(model) }),
  agent: async (model) => {
    const agent = { tools: TOOLS, stopWhen: stepCountIs(4) };
    const { text, steps } = await plain(model, agent);
    const calls = steps.flatMap((step) => step.toolCalls).map((call) => [call.toolName, call.input]);
    return { text, calls, streamed: await streamed(model, agent) };
  },
  cut: (model) => streamed(model, { headers: { "X-Mockserver-Fault": '{ kind = "cut", after_event = 4 }' } }),
};

const ASKED = { answers: Object.keys(MODELS), agent: ["gemma", "yandexgpt", "qwen"], cut: ["cerebras", "qwen"] };
const seen = {};
for (const [kind, names] of Object.entries(ASKED)) {
  for (const name of names) seen[`${kind} ${name}`] = await SCENARIOS[kind](MODELS[name]);
}
console.log(JSON.stringify(seen));
