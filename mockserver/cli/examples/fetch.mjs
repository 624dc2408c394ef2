const answer = await fetch("<url>/v1/chat/completions", {
  method: "POST",
  headers: { authorization: "Bearer any-key", "content-type": "application/json" },
  body: JSON.stringify({ model: "gpt-5.4-mini", messages: [{ role: "user", content: "Hello" }], stream: true }),
});
const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
for (let part = await reader.read(); !part.done; part = await reader.read()) console.log(part.value);
