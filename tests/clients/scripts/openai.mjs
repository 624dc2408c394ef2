// What the openai package for Node.js sees: node openai.mjs URL prints it as JSON, by scenario.
import OpenAI from "openai";

const [url] = process.argv.slice(2);
const PROMPT = "Write a few sentences about the harbour of a small town in autumn.";
const MESSAGES = [{ role: "user", content: PROMPT }];

// Where each vendor lives, what it is asked, and how a text is read from its answers and chunks.
const text = { create: (client) => client.completions, of: (choice) => choice.text, ask: { prompt: PROMPT } };
const chat = {
  create: (client) => client.chat.completions,
  of: (choice) => (choice.message ?? choice.delta).content ?? "",
  ask: { messages: MESSAGES },
};
const VENDORS = {
  cerebras: { ...text, base: "/cerebras/v1", model: "llama3.1-8b", wrong: { temperature: 2.1 } },
  ovms: { ...text, base: "/ovms/v3", model: "llama3", wrong: { temperature: 2.1 } },
  upstash: {
    ...chat, base: "/upstash/llm/v1", model: "meta-llama/Meta-Llama-3-8B-Instruct", wrong: { temperature: 2.1 },
  },
  yandexgpt: { ...chat, base: "/yandex/v1", model: "gpt://b1gmock/yandexgpt/latest", wrong: { model: "yandexgpt" } },
  qwen: { ...chat, base: "/yandex/v1", model: "gpt://b1gmock/qwen3-235b-a22b-fp8/latest", wrong: { model: "qwen" } },
};

const clientOf = (vendor) =>
  new OpenAI({ apiKey: "mock", baseURL: url + vendor.base, project: "b1gmock", timeout: 30_000, maxRetries: 0 });

const answered = (vendor, answer) => ({
  id: answer.id ?? null,
  object: answer.object,
  text: vendor.of(answer.choices[0]),
  finish: answer.choices[0].finish_reason,
  usage: answer.usage,
});

async function streamed(vendor, stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    text: choices.map(vendor.of).join(""),
    finishes: choices.map((choice) => choice.finish_reason).filter(Boolean),
    usages: chunks.map((chunk) => chunk.usage).filter(Boolean),
    chunks: chunks.length,
  };
}

async function problem(asking) {
  try {
    await asking;
    return null;
  } catch (error) {
    return { class: error.constructor.name, status: error.status ?? null, message: error.message, body: error.error };
  }
}

async function vendorScenario(vendor) {
  const client = clientOf(vendor);
  const ask = { model: vendor.model, ...vendor.ask };
  const create = (wishes) => vendor.create(client).create({ ...ask, ...wishes });
  const plain = answered(vendor, await create({}));
  const whole = await streamed(vendor, await create({ stream: true }));
  const short = answered(vendor, await create({ max_tokens: 5 }));
  const refused = await problem(create(vendor.wrong));
  const leaving = await create({ stream: true });
  for await (const _ of leaving) break;
  const again = answered(vendor, await create({}));
  return { plain, whole, short, refused, again };
}

async function tools(vendor) {
  const parameters = {
    type: "object",
    properties: { town: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
    required: ["town", "days"],
    additionalProperties: false,
  };
  const ask = {
    model: vendor.model,
    messages: [{ role: "user", content: "What will the weather be in Oslo for the next 3 days?" }],
    tools: [{ type: "function", function: { name: "forecast", parameters, strict: true } }],
    tool_choice: "required",
  };
  const client = clientOf(vendor);
  const plain = await client.chat.completions.create(ask);
  const helped = await client.chat.completions.stream(ask).finalChatCompletion();
  return {
    plain: { calls: plain.choices[0].message.tool_calls, finish: plain.choices[0].finish_reason },
    helped: { calls: helped.choices[0].message.tool_calls, finish: helped.choices[0].finish_reason },
  };
}

// Responses of each vendor that has them: whole, helped through a stream, and in a loop of a tool to its end.
const RESPONDING = {
  openai: { ...chat, base: "/openai/v1", model: "gpt-5.4" },
  yandex: VENDORS.qwen,
  friendli: { base: "/friendli/serverless/v1", model: "zai-org/GLM-5.3" },
};

async function responses(vendor) {
  const client = clientOf(vendor);
  const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"], additionalProperties: false };
  const tools = [{ type: "function", name: "forecast", description: "The weather in a town", parameters, strict: true }];
  const ask = { model: vendor.model, input: PROMPT };
  const plain = await client.responses.create(ask);
  const helped = await client.responses.stream(ask).finalResponse();
  const history = [{ role: "user", content: "What is the weather in Oslo?" }];
  const called = await client.responses.create({ model: vendor.model, input: history, tools });
  const calls = called.output.filter((item) => item.type === "function_call");
  const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "rain in Oslo" }));
  const told = await client.responses.create({ model: vendor.model, input: [...history, ...called.output, ...results], tools });
  return { plain: plain.output_text, helped: helped.output_text, calls: calls.map((call) => call.arguments), told: told.output_text };
}

async function models() {
  const seen = {};
  for (const name of ["cerebras", "yandexgpt"]) {
    seen[name] = [];
    for await (const model of clientOf(VENDORS[name]).models.list()) seen[name].push(model.id);
  }
  return seen;
}

const seen = { models: await models(), tools: await tools(VENDORS.qwen) };
for (const [name, vendor] of Object.entries(VENDORS)) seen[name] = await vendorScenario(vendor);
for (const [name, vendor] of Object.entries(RESPONDING)) seen[`responses ${name}`] = await responses(vendor);
console.log(JSON.stringify(seen));
