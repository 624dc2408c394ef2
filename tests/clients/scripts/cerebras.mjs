// What Cerebras' SDK for Node.js sees: node cerebras.mjs URL prints it as JSON, by edition.
import Cerebras from "@cerebras/cerebras_cloud_sdk";

const [url] = process.argv.slice(2);
let client;
const clientOf = (edition) =>
  new Cerebras({
    baseURL: `${url}/cerebras`, apiKey: "mock", maxRetries: 0, timeout: 30_000,
    defaultHeaders: { "X-Mockserver-Edition": edition },
  });
const ASK = { model: "gpt-oss-120b", prompt: "Write a few sentences about the harbour of a small town in autumn." };

const asked = (wishes, fault) =>
  client.completions.create({ ...ASK, ...wishes }, fault && { headers: { "X-Mockserver-Fault": fault } });

async function streamed(wishes, fault) {
  let text = "", last = null;
  for await (const chunk of await asked({ ...wishes, stream: true }, fault)) {
    text += chunk.choices?.[0]?.text ?? "";
    last = chunk;
  }
  return { text, last };
}

const TOWN = { type: "object", properties: { town: { type: "string" } }, required: ["town"], additionalProperties: false };
const CHAT = {
  model: "gpt-oss-120b", reasoning_effort: "low",
  messages: [{ role: "user", content: "What's the weather in Oslo?" }],
  tools: [{ type: "function", function: { name: "get_weather", description: "Tells the weather in a town", parameters: TOWN } }],
};

async function chatted(wishes) {
  let reasoning = "", content = "", name = "", args = "", last = null;
  for await (const chunk of await client.chat.completions.create({ ...CHAT, ...wishes, stream: true })) {
    const delta = chunk.choices[0].delta;
    reasoning += delta.reasoning ?? "";
    content += delta.content ?? "";
    for (const call of delta.tool_calls ?? []) {
      name += call.function.name ?? "";
      args += call.function.arguments;
    }
    last = chunk;
  }
  return { reasoning, content, call: { name, arguments: args }, last };
}

async function problem(asking) {
  try {
    await asking;
    return null;
  } catch (error) {
    return { class: error.constructor.name, status: error.status ?? null, message: error.message };
  }
}

const everything = async () => ({
  models: (await client.models.list()).data.map((model) => model.id),
  model: (await client.models.retrieve("gpt-oss-120b")).id,
  plain: await asked({ max_tokens: 30 }),
  streamed: await streamed({ max_tokens: 30 }),
  logprobs: (await asked({ max_tokens: 3, logprobs: 2 })).choices[0].logprobs,
  raw: (await asked({ max_tokens: 3, return_raw_tokens: true })).choices[0].tokens,
  chat: await client.chat.completions.create({ ...CHAT, tool_choice: "none" }),
  chatted: await chatted({ tool_choice: "none" }),
  calling: await client.chat.completions.create(CHAT),
  called: await chatted({}),
  refused: await problem(asked({ temperature: 2.1 })),
  limited: await problem(asked({}, '{ kind = "error", error = "rate_limit" }')),
  unauthorized: await problem(asked({}, '{ kind = "error", error = "unauthorized" }')),
  amid: await problem(streamed({}, '{ kind = "error_event", after_event = 2 }')),
  cut: await streamed({ max_tokens: 30 }, '{ kind = "cut", after_event = 4 }'),
});

const seen = {};
for (const edition of ["documented", "observed"]) {
  client = clientOf(edition);
  seen[edition] = await everything();
}
console.log(JSON.stringify(seen));
