"""`python -m mockserver` is the command `mockserver`."""

import sys

from mockserver.cli import main

sys.exit(main())
