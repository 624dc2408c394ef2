"""CrewAI: a crew with OpenAI, and its classes for OpenAI and Anthropic."""

import contextlib
import io
import json

import crewai

QUESTION = "What is the weather in Oslo?"
with contextlib.redirect_stdout(io.StringIO()):
    agent = crewai.Agent(role="Meteorologist", goal="Tell the weather", backstory="Old", llm="openai/gpt-4o")
    task = crewai.Task(description=QUESTION, expected_output="A sentence", agent=agent)
    told = crewai.Crew(agents=[agent], tasks=[task]).kickoff().raw
    seen = {
        "plain": crewai.LLM(model="openai/gpt-4o").call(QUESTION),
        "agent": told,
        "anthropic": crewai.LLM(model="anthropic/claude-sonnet-5").call(QUESTION),
    }
print(json.dumps(seen))
