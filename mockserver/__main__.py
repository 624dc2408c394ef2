"""`python -m mockserver` is the command `mockserver`."""

import sys

from llm_mockserver_pytest import main

sys.exit(main())
