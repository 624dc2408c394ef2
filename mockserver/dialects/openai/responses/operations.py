"""The operations of the Responses API, whose code is loaded with the first request."""

from mockserver.core.dialects import Operation, Schemas, on_demand

_HERE = __package__


def _of_stored(name: str, method: str, path: str, summary: str, response: str | None = None) -> Operation:
    answer = on_demand(f"{_HERE}.stored:{name}")
    schemas = Schemas(response=response, chunk="ResponseEvent" if name == "get_response" else None)
    return Operation(name, method, (path,), schemas, handler=answer, summary=summary, remembers=True)


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
    history_markers=(b'"previous_response_id"', b'"item_reference"', b'"background"'),
)
COUNT_TOKENS = Operation(
    "input_tokens",
    "POST",
    ("/v1/responses/input_tokens",),
    Schemas("ResponseRequest"),
    handler=on_demand(f"{_HERE}.requests:count_tokens"),
    summary="Count the tokens of an input",
)
# A path with more after the id comes first.
RESPONSES: tuple[Operation, ...] = (
    CREATE_RESPONSE,
    COUNT_TOKENS,
    _of_stored("list_input_items", "GET", "/v1/responses/{id}/input_items", "The input of a stored response"),
    _of_stored("cancel_response", "POST", "/v1/responses/{id}/cancel", "Cancel a response", "Response"),
    _of_stored("get_response", "GET", "/v1/responses/{id}", "A stored response", "Response"),
    _of_stored("delete_response", "DELETE", "/v1/responses/{id}", "Delete a stored response"),
)
