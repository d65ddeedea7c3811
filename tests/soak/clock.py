"""The system's clock as one process sees it: in the middle of a session, and set as often as wanted. By libfaketime."""

import datetime
import glob
import time

LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"
BEGINS = datetime.datetime(2026, 11, 20, 16, tzinfo=datetime.timezone.utc)


class SteppedClock:
    """A clock that begins at eleven on a Friday, Eastern; `file` is where it is kept."""

    def __init__(self, file):
        self.file, self.offset = file, BEGINS.timestamp() - time.time()
        self.step(0)

    @staticmethod
    def is_there():
        """True if libfaketime is installed."""
        return bool(glob.glob(LIBRARY))

    def now(self):
        """The clock's time without a step."""
        return datetime.datetime.fromtimestamp(time.time() + self.offset, datetime.timezone.utc)

    def step(self, seconds):
        """Steps the clock by some seconds; the process sees it within a second."""
        aside = self.file.with_suffix(".new")
        aside.write_text(f"{self.offset + seconds:+.3f}\n")
        aside.rename(self.file)

    def environment(self):
        """The environment variables of the process."""
        # waits are by the monotonic clock, which nobody can set
        return {
            "LD_PRELOAD": glob.glob(LIBRARY)[0],
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
