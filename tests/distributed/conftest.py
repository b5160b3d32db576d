"""Files that processes write when they fail lie in a folder of the tests."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _flight_files(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(tmp_path_factory.mktemp("flight") / "rank_"))
        yield
