// What @upstash/qstash sees of the LLM API: node qstash.mjs URL prints it as JSON, by scenario.
import { createServer } from "node:http";

import { Client, Receiver, upstash } from "@upstash/qstash";

const [url] = process.argv.slice(2);
const clientOf = (root) => new Client({ token: "mock", baseUrl: `${root}/upstash`, retry: false });
const client = clientOf(url);
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

/** The next requests to an application of this process, each with what the receiver says of its signature. */
async function receiving(publish) {
  const { current, next } = await (await fetch(`${url}/upstash/v2/keys`, { headers: { authorization: "Bearer mock" } })).json();
  const receiver = new Receiver({ currentSigningKey: current, nextSigningKey: next });
  const taken = [];
  let arrived;
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", async () => {
      const body = Buffer.concat(parts).toString();
      const signature = request.headers["upstash-signature"];
      const here = `http://127.0.0.1:${server.address().port}${request.url}`;
      const verified = await receiver.verify({ signature, body, url: here }).catch(String);
      const forged = await receiver.verify({ signature, body: `${body} `, url: here }).catch((error) => error.name);
      taken.push({ path: request.url, headers: request.headers, body, verified, forged });
      response.end("thanks");
      arrived?.();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const told = await publish(`http://127.0.0.1:${server.address().port}`, async (count) => {
    while (taken.length < count) await new Promise((resolve) => (arrived = resolve));
    return taken;
  });
  server.closeAllConnections();
  server.close();
  return told;
}

const body = { model: ask.model, messages: ask.messages };
const api = { name: "llm", provider: upstash() };

const SCENARIOS = {
  publish: () =>
    receiving(async (here, requests) => {
      const published = await client.publishJSON({ api, body, callback: `${here}/done`, headers: { tenant: "blue" } });
      const queued = await client.queue({ queueName: "jobs" }).enqueueJSON({ api, body, callback: `${here}/queued` });
      const batch = await client.batchJSON([
        { api, body: { ...body, max_tokens: 5 }, callback: `${here}/first` },
        { url: `${here}/second?a=b`, body: { hello: "world" }, retries: 0 },
      ]);
      const taken = await requests(4);
      const { logs } = await client.logs({ filter: { messageId: published.messageId } });
      return { answer: await create({}), published, queued, batch, taken, states: logs.map((log) => log.state) };
    }),
  messages: () =>
    receiving(async (here) => {
      const client = clientOf(`${url}/ns/node-messages`);
      const late = (label) => client.publishJSON({ url: here, body: {}, delay: "1h", label });
      const [first, second, third] = [await late("a"), await late("b"), await late("c")];
      const shown = await client.messages.get(first.messageId);
      const again = await client.publish({ url: here, deduplicationId: "once", delay: "1h" });
      const twice = await client.publish({ url: here, deduplicationId: "once", delay: "1h" });
      const flowControl = { key: "calls", parallelism: 3, rate: 10, period: "1m" };
      const queue = client.queue({ queueName: "tuned" });
      await queue.upsert({ parallelism: 3, paused: true });
      const tuned = await queue.get();
      await queue.delete();
      return {
        shown,
        flow: await problem(() => client.publishJSON({ url: here, body: {}, delay: "1h", flowControl })),
        tuned,
        duplicate: again.messageId === twice.messageId && twice.deduplicated,
        one: await client.messages.cancel(first.messageId),
        some: await client.messages.cancel([second.messageId, "msg_none"]),
        filtered: await client.messages.cancel({ filter: { label: "c" } }),
        gone: await problem(() => client.messages.get(third.messageId)),
        refused: await problem(() => client.publishJSON({ url: "nowhere", body: {} })),
        dead: (await client.dlq.listMessages()).messages,
      };
    }),
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
const seen = {};
for (const [name, scenario] of Object.entries(SCENARIOS)) seen[name] = await scenario();
console.log(JSON.stringify(seen));
