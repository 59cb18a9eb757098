"""The model hub, through huggingface_hub: saved folders go there as repositories, and come from there as folders."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from isoglot.errors import InputError, OfflineError
from isoglot.extras import require
from isoglot.folders import publishing

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
#: Seconds until the hub has answered a first question.
_PATIENCE = 10
_LOG_IN = "log in with `hf auth login`, or set HF_TOKEN to a token that may do this"


def may_be_on_hub(name: str | Path) -> bool:
    """Whether it is written like a repository ("user/name") and cannot be a path: there is no such folder before it.

    >>> may_be_on_hub("user/en-fr"), may_be_on_hub("en-fr"), may_be_on_hub("./user/en-fr"), may_be_on_hub("/tmp/en-fr")
    (True, False, False, False)
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and not Path(name).parent.is_dir()


def fetch(name: str | Path) -> Path:
    """A folder as it is, or the folder of a repository: fetched, or as fetched before where the hub is out of reach."""
    folder = Path(name).expanduser()
    if folder.exists() or not may_be_on_hub(name):
        return folder
    require("hub", f"{name} is no folder here, and to look for it on the model hub")
    from huggingface_hub import HfApi

    with _clear_errors(str(name), "no such file or folder, and the model hub"), _no_bars():
        return Path(HfApi().snapshot_download(str(name), etag_timeout=_PATIENCE))


def push(
    save: Callable[[Path], object] | Path,
    name: str,
    *,
    private: bool | None = None,
    leave_out: Sequence[str] = (),
) -> str:
    """Send a folder to the repository `name`, which is made if there is none, and return its address.

    Args:
        save: writes the folder, in which files are then named without the folders they lie in; or a folder as it is.
        private: None for what the hub does by default.
        leave_out: patterns of files that stay here.
    """
    require("hub", "sending this to the model hub")
    if not may_be_on_hub(name):
        raise InputError("is not a name on the model hub", where=name, remedy="name it as user/name")
    from huggingface_hub import HfApi

    with contextlib.ExitStack() as stack:
        folder = save if isinstance(save, Path) else Path(stack.enter_context(tempfile.TemporaryDirectory())) / "saved"
        if not isinstance(save, Path):
            with publishing():
                save(folder)
        stack.enter_context(_clear_errors(name, "the model hub"))
        stack.enter_context(_no_bars())
        hub = HfApi()
        address = hub.create_repo(name, private=private, exist_ok=True)
        # Other files that are there stay: they may be somebody's work.
        message = "Upload with Isoglot"
        hub.upload_folder(repo_id=name, folder_path=folder, commit_message=message, ignore_patterns=list(leave_out))
        return str(address)


@contextlib.contextmanager
def _clear_errors(name: str, hub: str) -> Iterator[None]:
    """One clear line of ours for whatever goes wrong between us and the hub; `hub` begins its sentence."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        yield
    except RepositoryNotFoundError as error:
        what = f"{hub} has no such repository, or shows it only to others"
        raise InputError(what, where=name, remedy=f"check the name, or {_LOG_IN}") from error
    except HFValidationError as error:
        raise InputError("cannot be a name on the model hub", where=name, remedy="name it as user/name") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        remedy = _LOG_IN if status in (401, 403) else "try again later"
        raise OfflineError(f"{hub} refused this ({status})", where=name, remedy=remedy) from error
    except ValueError as error:  # such as a README.md whose first lines were edited
        raise InputError(f"{hub} does not take this ({error})", where=name) from error
    except Exception as error:
        # Which error an unreachable host gives depends on the library underneath.
        why = type(error.__cause__ or error).__name__
        raise OfflineError(f"{hub} cannot be reached ({why})", where=name, remedy="check the connection") from error


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    before = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            enable_progress_bars()
