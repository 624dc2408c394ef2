"""An application that knows nothing of mocks: it streams an answer from the API whose base URL it is given."""

import json
import os
import urllib.request

BASE_URL = os.environ.get("CEREBRAS_BASE_URL", "https://api.cerebras.ai")
KEY = os.environ.get("CEREBRAS_API_KEY", "any-key")


def ask(prompt: str) -> None:
    """Print the answer as it comes."""
    body = {"model": "llama3.1-8b", "prompt": prompt, "max_tokens": 60, "stream": True}
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{BASE_URL}/v1/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                print(json.loads(line[6:])["choices"][0]["text"], end="", flush=True)
    print()


if __name__ == "__main__":
    ask("What is the capital of Turkey?")
