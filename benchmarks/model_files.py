"""Run a folder of model files beside MuJoCo or Pinocchio: python benchmarks/model_files.py FOLDER ..."""

import sys

from setsu.benchmarks.model_files import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
