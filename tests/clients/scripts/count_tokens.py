"""Tokenizes texts, a JSON list on standard input, with the tokenizer in a file: the ids of each, and their text."""

import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
counted = [tokenizer.encode(text).ids for text in json.load(sys.stdin)]
texts = [tokenizer.decode(ids) for ids in counted]
print(json.dumps({"size": tokenizer.get_vocab_size(), "ids": counted, "texts": texts}))
