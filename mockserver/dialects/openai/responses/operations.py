"""The operations of the Responses API, whose code is loaded with the first request."""

from mockserver.core.dialects import Operation, Schemas, on_demand

_HERE, _OPENAI = __package__, "mockserver.dialects.openai"


def stored_operations(package: str, *rows: tuple[str | None, ...]) -> tuple[Operation, ...]:
    """The operations on what is stored, whose handlers are in the module `stored` of a package: the name, the method,
    the path, the summary and the schemas of each. A path with more after an id comes first."""
    return tuple(
        Operation(
            str(name),
            str(method),
            (f"/v1/{path}",),
            Schemas(*schemas),
            handler=on_demand(f"{package}.stored:{name}"),
            summary=str(summary),
            remembers=True,
        )
        for name, method, path, summary, *schemas in rows
    )


def on_responses(package: str, event: str | None = None) -> tuple[Operation, ...]:
    """The operations on stored responses; `event` is the schema of the events of one that is streamed."""
    return stored_operations(
        package,
        ("list_input_items", "GET", "responses/{id}/input_items", "The input of a stored response"),
        ("cancel_response", "POST", "responses/{id}/cancel", "Cancel a response", None, "Response"),
        ("get_response", "GET", "responses/{id}", "A stored response", None, "Response", event),
        ("delete_response", "DELETE", "responses/{id}", "Delete a stored response"),
    )


_CONTINUES = (b'"previous_response_id"', b'"item_reference"', b'"conversation"')
CREATE_RESPONSE = Operation(
    "responses",
    "POST",
    ("/v1/responses",),
    Schemas("ResponseRequest", "Response", "ResponseEvent"),
    read=on_demand(f"{_HERE}.requests:read_response"),
    write=on_demand(f"{_HERE}.answers:write_response"),
    supports_tools=True,
    summary="Answer what was said, called and given back",
    stream_error=on_demand(f"{_HERE}.answers:fail_response"),
    history_markers=(*_CONTINUES, b'"background"'),
)
COMPACT_RESPONSE = Operation(
    "compact_response",
    "POST",
    ("/v1/responses/compact",),
    Schemas("ResponseRequest", "CompactedResponse"),
    read=on_demand(f"{_HERE}.requests:read_compaction"),
    write=on_demand(f"{_HERE}.answers:write_compaction"),
    summary="Summarize a conversation as an item that stands for it",
    history_markers=_CONTINUES,
)
COUNT_TOKENS = Operation(
    "input_tokens",
    "POST",
    ("/v1/responses/input_tokens",),
    Schemas("ResponseRequest"),
    handler=on_demand(f"{_HERE}.requests:count_tokens"),
    summary="Count the tokens of an input",
)
_ITEM, _METADATA = "conversations/{id}/items/{item_id}", "MetadataRequest"
RESPONSES: tuple[Operation, ...] = (
    CREATE_RESPONSE,
    COMPACT_RESPONSE,
    COUNT_TOKENS,
    *on_responses(_OPENAI, "ResponseEvent"),
    *stored_operations(
        _OPENAI,
        ("get_item", "GET", _ITEM, "An item of a conversation"),
        ("delete_item", "DELETE", _ITEM, "Remove an item from a conversation", None, "Conversation"),
        ("list_items", "GET", "conversations/{id}/items", "The items of a conversation", None, "ItemList"),
        ("create_items", "POST", "conversations/{id}/items", "Add to a conversation", "ItemsRequest", "ItemList"),
        ("create_conversation", "POST", "conversations", "Begin a conversation", "ConversationRequest", "Conversation"),
        ("get_conversation", "GET", "conversations/{id}", "A conversation", None, "Conversation"),
        ("update_conversation", "POST", "conversations/{id}", "Change its metadata", _METADATA, "Conversation"),
        ("delete_conversation", "DELETE", "conversations/{id}", "Delete a conversation", None, "Deleted"),
        ("list_messages", "GET", "chat/completions/{id}/messages", "The messages of a stored chat"),
        ("list_chats", "GET", "chat/completions", "The stored chats"),
        ("get_chat", "GET", "chat/completions/{id}", "A stored chat", None, "StoredChat"),
        ("update_chat", "POST", "chat/completions/{id}", "Change its metadata", _METADATA, "StoredChat"),
        ("delete_chat", "DELETE", "chat/completions/{id}", "Delete a stored chat", None, "Deleted"),
    ),
)
