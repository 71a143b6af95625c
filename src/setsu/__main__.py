"""`python -m setsu` is the same as the command `setsu`."""

import sys

from setsu.command_line import main

if __name__ == "__main__":
    sys.exit(main())
