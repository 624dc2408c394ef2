"""What `tool_choice: auto` calls: what is ordered, and what a tool's description claims; nothing else.

The table has a hundred prompts, each with the tools it is sent with and the tools that are called: half of them are
answered by a call and half in prose, in five languages.
"""

import pytest

from mockserver.core.generation import GenerationRequest, Message, Prompt, Tool, ToolChoice
from mockserver.model.tools.calls import decide


def tool(name: str, description: str, parameter: str = "text") -> Tool:
    properties = {parameter: {"type": "string"}}
    return Tool(name, description, {"type": "object", "properties": properties, "required": [parameter]})


TOOLS = {
    "run_me": tool("run_me", "", "foo"),
    "probe": tool("probe", "Checks the state of the device", "level"),
    "lantern": tool("lantern", "Schaltet die Laterne", "zustand"),
    "web_search": tool("web_search", "Search the web for information", "query"),
    # Recorded: Yandex AI Studio's models call it for "How much it would be 7@8?".
    "calculator": tool(
        "calculator",
        "A simple calculator that performs basic arithmetic and @ operations; call it on ANY arithmetic questions",
        "expression",
    ),
    "evaluate": tool("evaluate", "Evaluates what it is given. Use it for every calculation.", "expression"),
    "rechner": tool("f1", "Wertet Ausdrücke aus. Für alle Rechenaufgaben aufrufen.", "ausdruck"),
    "birds": tool("ask_expert", "Forwards to an expert. Use this for any question about birds.", "question"),
    "refunds": tool("desk_7", "Forwards to the back office. Must be used for all refund requests, not for rebates."),
    "log": tool("log_turn", "Writes a line into a file. Always call this tool before you answer."),
    "door": tool("door", "Opens the door. Call it whenever the user greets you."),
    "koch": tool("k1", "Fragt einen Koch. Nutze dieses Werkzeug bei jeder Frage zum Backen.", "frage"),
    "jardin": tool("j1", "Interroge un jardinier. À utiliser pour toute question sur les roses."),
    "abogado": tool("a1", "Consulta a un abogado. Llama a esta herramienta para cualquier pregunta sobre contratos."),
    "astronom": tool("z1", "Спрашивает астронома. Вызывай для любых вопросов о планетах.", "вопрос"),
    # Recorded: Yandex AI Studio's models call both of two tools with one description.
    "something": tool(
        "something", "Collects all the numbers from the message and does a SOMETHING with them", "numbers"
    ),
    "something_else": tool(
        "something_else", "Collects all the numbers from the message and does a SOMETHING with them", "numbers"
    ),
}
NAMES = {offered.name: key for key, offered in TOOLS.items()}

# The prompt, the tools that it is sent with, and those that are called.
TABLE = [
    # --- orders, English
    ("Please run the tool", "run_me", "run_me"),
    ("Please run the tool, providing whatever arguments you want.", "run_me", "run_me"),
    ("You have a tool. Use it.", "probe", "probe"),
    ("Go ahead and trigger the tool", "probe", "probe"),
    ("I want you to launch the tool, please", "run_me", "run_me"),
    ("Could you make a tool call?", "probe", "probe"),
    ("Use both tools.", "run_me probe", "run_me probe"),
    # --- German
    ("Führe bitte das Tool aus", "lantern", "lantern"),
    ("Bitte das Werkzeug ausführen", "probe", "probe"),
    ("Ich möchte, dass du das Tool benutzt.", "run_me", "run_me"),
    ("Kannst du bitte das Tool starten?", "lantern", "lantern"),
    ("Starte jetzt das Werkzeug!", "run_me", "run_me"),
    # --- French
    ("Exécute l'outil, s'il te plaît", "probe", "probe"),
    ("Lancez la fonction", "run_me", "run_me"),
    ("Peux-tu appeler l'outil ?", "run_me", "run_me"),
    ("Bonjour ! Fais appel à cet outil.", "probe", "probe"),
    ("Sers-toi de l’outil fourni", "run_me", "run_me"),
    # --- Spanish
    ("Ejecuta la herramienta, por favor", "run_me", "run_me"),
    ("Por favor, llame a la función", "probe", "probe"),
    ("¿Puedes usar la herramienta?", "run_me", "run_me"),
    ("Quiero que actives la herramienta", "probe", "probe"),
    ("¡Lanza la función ahora!", "run_me", "run_me"),
    # --- Russian
    ("Запусти инструмент", "run_me", "run_me"),
    ("Пожалуйста, вызовите функцию", "probe", "probe"),
    ("Воспользуйся инструментом", "run_me", "run_me"),
    ("Можешь выполнить функцию?", "probe", "probe"),
    ("Нужно запустить этот инструмент.", "run_me", "run_me"),
    # --- claims
    ("How much is 7@8?", "calculator", "calculator"),
    ("How much is 12 / 4?", "evaluate", "evaluate"),
    ("What is the square root of 144?", "calculator", "calculator"),
    ("Which birds cannot fly?", "birds", "birds"),
    ("I'd like a refund for my ticket", "refunds", "refunds"),
    ("Tell me a joke", "log", "log"),
    ("Hello!", "door", "door"),
    ("Was ist 7 mal 8?", "rechner", "rechner"),
    ("Wie viel ist 15 % von 80?", "rechner", "rechner"),
    ("Wie lange muss ich einen Kuchen backen?", "koch", "koch"),
    ("Welches Mehl ist gut zum Backen?", "koch run_me", "koch"),
    ("Guten Morgen!", "door", "door"),
    ("Quand faut-il tailler les roses ?", "jardin", "jardin"),
    ("Combien font 7 fois 8 ?", "calculator", "calculator"),
    ("Comment arroser une rose en été ?", "jardin", "jardin"),
    ("¿Cuánto es 9 por 12?", "calculator", "calculator"),
    ("¿Qué debe decir un contrato de alquiler?", "abogado", "abogado"),
    ("¿Puedo anular este contrato?", "abogado probe", "abogado"),
    ("Сколько будет 7@8?", "calculator", "calculator"),
    ("Какая планета самая большая?", "astronom", "astronom"),
    ("Сколько спутников у планеты Марс?", "astronom probe", "astronom"),
    # --- tools of one description
    ("do a SOMETHING with all the numbers from: 5, 4, a, 1", "something something_else", "something something_else"),
    ("Collect the numbers 5 and 4, please", "something something_else probe", "something something_else"),
    # --- prose, English
    ("How do I run the tool?", "run_me", ""),
    ("What happens if you call the function?", "probe", ""),
    ("Explain how to use the tool", "run_me", ""),
    ("Please don't run the tool.", "run_me", ""),
    ("Write a function that reverses a list", "run_me probe", ""),
    ("Should I execute the function again?", "probe", ""),
    ("The documentation says: call the function twice.", "run_me", ""),
    ('Translate "please run the tool" into French', "run_me", ""),
    ("What tools do you have?", "run_me probe", ""),
    ("Write a poem about birds", "birds", ""),
    ("Hello!", "birds calculator refunds", ""),
    ("Tell me about rebates", "refunds", ""),
    ("My phone number is 555-1234 and I live at 7/8 Main Street", "calculator", ""),
    ("Which mammals lay eggs?", "birds", ""),
    ("I would use the tool if I had time", "something something_else", ""),
    ("The game ended 3-1 and I was there from 5 to 7. What a night!", "evaluate", ""),
    # --- German
    ("Wie benutze ich das Tool?", "lantern", ""),
    ("Benutze kein Tool!", "lantern", ""),
    ("Bitte das Werkzeug nicht ausführen", "probe", ""),
    ("Was macht die Funktion?", "run_me", ""),
    ("Ich nutze das Tool jeden Tag.", "run_me", ""),
    ("Schreibe ein Gedicht über das Backen", "koch", ""),
    ("Wer hat den Buchdruck erfunden?", "koch rechner", ""),
    ("Ich bin 42 Jahre alt und habe 2 Kinder", "rechner", ""),
    ("Erzähl mir einen Witz", "koch lantern", ""),
    # --- French
    ("Comment utiliser l'outil ?", "run_me", ""),
    ("N'utilise pas l'outil", "probe", ""),
    ("Réponds sans utiliser d'outils", "run_me", ""),
    ("Écris une fonction en Python", "run_me", ""),
    ("Le stagiaire utilise l'outil du matin au soir.", "probe", ""),
    ("Raconte une histoire de chat", "jardin calculator", ""),
    ("Quelle est la capitale de la Norvège ?", "jardin", ""),
    ("J'ai deux chiens et un chat", "calculator", ""),
    # --- Spanish
    ("¿Cómo se usa la herramienta?", "run_me", ""),
    ("No uses la herramienta", "run_me", ""),
    ("La función usa la herramienta.", "probe", ""),
    ("Escribe una función que sume dos números", "run_me", ""),
    ("Cuéntame un cuento", "abogado", ""),
    ("¿Quién pintó Las meninas?", "abogado calculator", ""),
    ("¿Qué herramientas necesita un carpintero?", "probe", ""),
    ("Tengo 3 hermanos y vivo en la calle 5", "calculator", ""),
    # --- Russian
    ("Как запустить инструмент?", "run_me", ""),
    ("Не вызывай функцию", "probe", ""),
    ("Ответь без инструментов", "run_me", ""),
    ("Мы используем инструмент каждый день.", "run_me", ""),
    ("Напиши функцию на Python", "run_me", ""),
    ("Расскажи анекдот", "astronom", ""),
    ("Кто написал «Мёртвые души»?", "astronom calculator", ""),
    ("Мне 30 лет, у меня 2 кота", "calculator", ""),
    ("Сочини стихи о планетах", "astronom", ""),
]  # fmt: skip


def called(prompt: str, offered: str) -> str:
    said = Prompt(prompt, prompt, 10, chat=True, messages=(Message("user", prompt),))
    tools = tuple(TOOLS[key] for key in offered.split())
    request = GenerationRequest("m", (said,), tools=tools, tool_choice=ToolChoice())
    return " ".join(sorted(NAMES[call.name] for call in decide(request, said, 7)))


def test_auto_calls_what_is_asked_for_and_nothing_else() -> None:
    wrong = [
        f"{prompt!r} beside {offered}: {found or 'prose'} instead of {expected or 'prose'}"
        for prompt, offered, expected in TABLE
        if (found := called(prompt, offered)) != " ".join(sorted(expected.split()))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
