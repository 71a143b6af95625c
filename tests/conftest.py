"""What every test run prints first: the native code under test depends on it."""

from setsu.native.threads import get_threads
from setsu.native.toolchain import cache_folder, lanes


def pytest_report_header() -> str:
    """Lanes of the vector code, threads and the folder of compiled code."""
    return f"setsu: {lanes()} lanes, {get_threads()} threads, compiled code in {cache_folder()}"
