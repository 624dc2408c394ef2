"""Headers as pairs of bytes."""

from mockserver.core.calls import by_name, joined

RETRY, OTHER_RETRY, TYPE = (b"retry-after", b"2"), (b"retry-after", b"9"), (b"content-type", b"text/plain; \xe9")


def test_of_several_headers_with_the_same_name_the_first_counts_and_their_order_stays() -> None:
    found = by_name((TYPE, RETRY, OTHER_RETRY))
    assert list(found.items()) == [("content-type", "text/plain; é"), ("retry-after", "2")]


def test_joined_headers_have_those_of_the_rest_whose_names_the_first_lack() -> None:
    assert joined((RETRY,), (OTHER_RETRY, TYPE)) == (RETRY, TYPE)
    assert joined((), (OTHER_RETRY, RETRY)) == (OTHER_RETRY, RETRY)
