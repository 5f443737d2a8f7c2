"""JSON logs, one object a line on stderr, secrets left out. Call `configure` once a process."""

import json
import logging
import re
import sys
import time

_KEY_IN_PATH = re.compile(r"/key/[^/\s]+")


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object; `extra={"fields": {...}}` adds keys."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self.service = service

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "service": self.service,
            "message": mask(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def mask(text: str) -> str:
    """Hide API keys that dialect routes carry in their path."""
    return _KEY_IN_PATH.sub("/key/***", text)


def configure(service: str, level: str = "info") -> None:
    """Send this process's logs to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(service))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)
