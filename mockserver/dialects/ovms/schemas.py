"""The contract in `contract/`. It documents and checks answers; requests are judged by `checks`, as the server does."""

from mockserver.dialects.contracts import editions

CONTRACT = editions(__package__)
