"""The browser of the tests of pages."""

import os

import pytest
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def browser():
    program = os.environ.get("CHROMIUM")
    if not program:
        raise RuntimeError(
            "there is no browser: install chromium, or name one with CHROMIUM=/path/to/chromium"
        )
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()
