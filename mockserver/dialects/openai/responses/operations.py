"""The operations of the Responses API, whose code is loaded with the first request."""

from mockserver.core.dialects import Operation, Schemas, on_demand

_HERE = __package__


def stored_operations(package: str, event: str | None = None) -> tuple[Operation, ...]:
    """The operations on stored responses, whose handlers are in the module `stored` of a vendor's package; `event` is
    the schema of the events of one that is streamed."""

    def of_stored(name: str, method: str, path: str, summary: str, schemas: Schemas) -> Operation:
        answer = on_demand(f"{package}.stored:{name}")
        return Operation(
            name, method, (f"/v1/responses/{path}",), schemas, handler=answer, summary=summary, remembers=True
        )

    one, nothing = Schemas(response="Response"), Schemas()
    # A path with more after the id comes first.
    return (
        of_stored("list_input_items", "GET", "{id}/input_items", "The input of a stored response", nothing),
        of_stored("cancel_response", "POST", "{id}/cancel", "Cancel a response", one),
        of_stored("get_response", "GET", "{id}", "A stored response", one._replace(chunk=event)),
        of_stored("delete_response", "DELETE", "{id}", "Delete a stored response", nothing),
    )


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
RESPONSES: tuple[Operation, ...] = (CREATE_RESPONSE, COUNT_TOKENS, *stored_operations(_HERE, "ResponseEvent"))
