"""Numbers as fractions: which number it is that JSON says."""

from fractions import Fraction

# From here on all floats are whole numbers, and not all whole numbers are floats.
ALL_WHOLE = 2**53


def exactly(number: float) -> Fraction:
    """A number as it is written: 0.1 is a tenth. Of a large float the digits are rounded: it is what it holds."""
    if isinstance(number, int) or abs(number) >= ALL_WHOLE:
        return Fraction(number)
    return Fraction(repr(number))
