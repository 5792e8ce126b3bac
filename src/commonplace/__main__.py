"""`python -m commonplace`: the same as the command."""

import sys

from commonplace.main import main

sys.exit(main())
