// What @upstash/qstash sees of the LLM API: node qstash.mjs URL SCENARIO prints one JSON document.
import { Client, upstash } from "@upstash/qstash";

const [url, scenario] = process.argv.slice(2);
const client = new Client({ token: "mock", baseUrl: `${url}/upstash`, retry: false });
const PROMPT = "Write a few sentences about the harbour of a small town in autumn.";
const ask = {
  provider: upstash(),
  model: "meta-llama/Meta-Llama-3-8B-Instruct",
  messages: [{ role: "user", content: PROMPT }],
};

const create = (wishes) => client.chat().create({ ...ask, ...wishes });

async function chunksOf(wishes, atMost = Infinity) {
  const chunks = [];
  for await (const chunk of await create({ ...wishes, stream: true })) if (chunks.push(chunk) >= atMost) break;
  return chunks;
}

async function problem(asking) {
  try {
    await asking();
    return null;
  } catch (error) {
    return { class: error.constructor.name, status: error.status ?? null, message: error.message };
  }
}

const SCENARIOS = {
  plain: async () => ({ answer: await create({}) }),
  stream: async () => ({ answer: await create({}), chunks: await chunksOf({}) }),
  large: async () => {
    // Tens of kilobytes. Beyond 64 a read of this client may end within an event, which it cannot mend.
    const wishes = { logprobs: true, top_logprobs: 20, max_tokens: 24 };
    return { answer: await create(wishes), chunks: await chunksOf(wishes) };
  },
  prompt: async () => ({
    answer: await client.chat().prompt({ ...ask, messages: undefined, system: "You are brief.", user: PROMPT }),
  }),
  wishes: async () => {
    const answer = await create({});
    const whole = answer.choices[0].message.content;
    const stop = whole.slice(whole.length / 2).slice(0, 6);
    return {
      answer,
      stop,
      short: await create({ max_tokens: 5 }),
      stopped: await create({ stop: [stop] }),
      two: await create({ n: 2, max_tokens: 20 }),
      logprobs: await create({ logprobs: true, top_logprobs: 2, max_tokens: 5 }),
    };
  },
  leave: async () => ({ answer: await create({}), chunks: await chunksOf({}, 2), again: await create({}) }),
  refused: async () => ({
    plain: await problem(() => create({ temperature: 2.1 })),
    stream: await problem(() => chunksOf({ temperature: 2.1 })),
  }),
};
console.error = console.warn = () => {}; // the package reports what it throws a second time
console.log(JSON.stringify(await SCENARIOS[scenario]()));
