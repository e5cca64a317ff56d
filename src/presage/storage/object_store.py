"""The store of a home in a bucket: S3 and what speaks its protocol, Google Cloud Storage, Azure.

Paths begin with the bucket: `s3://bucket/plant/journal/1.json` is `/bucket/plant/journal/1.json`. A client is opened in
each process anew: after a fork the parent's connections must not be used. A pickled store holds names of credentials
(`env:NAME`), never their values.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError
from obstore.store import from_url

from presage.errors import error
from presage.model.redaction import keep_out, masked
from presage.storage.failures import first_line, is_unanswered
from presage.storage.store import Found, Item, Store, StoreError

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Options of the connection, which obstore takes apart from those of the service.
CLIENT = {"allow_http", "timeout", "connect_timeout", "proxy_url", "allow_invalid_certificates", "user_agent"}
ENV = "env:"
PROBE = "probe-"  # prefix of an object that tries whether the store refuses to overwrite
# Throttling and lost connections are retried for so long; a home must then say that its store does not answer.
RETRIES = {
    "max_retries": 1_000,  # the time counts
    "retry_timeout": timedelta(seconds=20),
    "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2},
}
SECRET = ("secret", "password", "token", "access_key", "account_key", "sas", "credential")  # in names of options
AT_ONCE = 16  # requests, where many objects are read
MEMORY = 64 << 20  # bytes of a file that is written; a larger one waits on the local disk
RECENT, RECENT_FILE = 64 << 20, 4 << 20  # bytes of the files that `RecentFiles` keeps: of all, and of one at most
MOST_AT_ONCE = 16  # files that are written at a time
VARIABLES = ("AWS_", "AZURE_", "GOOGLE_")  # prefixes of variables that count as options
_SERVER = re.compile(r"https?://[^/\s]+")
# In messages of obstore, and in the answers of servers that they quote.
_OF_OPTION = re.compile(r"[Cc]onfiguration key: '([^']+)'")
_CODE, _MESSAGE = re.compile(r"<Code>([^<]+)</Code>"), re.compile(r"<Message>([^<]*)</Message>")
_STATUS = re.compile(r"status code: (\d+ [A-Za-z ]+)")
_REQUEST = re.compile(r"Error performing \w+ (\S+) in (\d+)[\d.]*([a-zµ]+)")
_KIND = re.compile(r"kind: (\w+),")
_PARAMETERS = re.compile(r"\?[^\s)]*")
_NO_BUCKET = ("NoSuchBucket", "NoSuchContainer", "ContainerNotFound")
_LOST = {"Connect": "it cannot be reached", "Timeout": "it does not answer"}
_stores: dict[tuple[str, int], ObjectStore] = {}  # by bucket and process, for `opened_at`


class RecentFiles:
    """The contents of small files that this process wrote lately, and will soon read. Each has a name of its own, under
    which it is written once."""

    def __init__(self) -> None:
        self._files: dict[PurePath, bytes] = {}  # the oldest first
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, path: PurePath, data: bytes) -> None:
        with self._lock:
            self._drop(path)
            self._files[path] = data
            self._bytes += len(data)
            while self._bytes > RECENT:
                self._drop(next(iter(self._files)))

    def get(self, path: PurePath) -> bytes | None:
        return self._files.get(path)

    def drop(self, path: PurePath) -> None:
        with self._lock:
            self._drop(path)

    def _drop(self, path: PurePath) -> None:
        self._bytes -= len(self._files.pop(path, b""))

    fix = "check the bucket, its credentials and the network"


class ObjectStore(Store):
    """The objects of one bucket. `options`: as of obstore and delta-rs, such as `aws_endpoint`; a value may name a
    variable of the environment: `env:NAME`. Variables such as AWS_ACCESS_KEY_ID count as usual."""

    is_distant = True

    def __init__(self, bucket: str, options: Mapping[str, str] | None = None) -> None:
        self.bucket = bucket  # `s3://bucket`
        self._scheme, _, self._root = bucket.partition("://")
        self.options = {name.lower(): str(value) for name, value in (options or {}).items()}
        self._client: Any = None
        self._pid = 0
        self._recent = RecentFiles()
        environment = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        self._access = self.options, environment
        known = _stores.get((bucket, os.getpid()))
        # A store with the same access, such as that of a question who leads, does not hide the files that the first
        # one has just written.
        if known is None or known._access != self._access:
            self.register()

    def register(self) -> None:
        """Use this store for the addresses of its bucket in this process."""
        _stores[self.bucket, os.getpid()] = self

    def __reduce__(self) -> tuple[Any, ...]:
        for name, value in self.options.items():
            if _is_secret(name) and not value.startswith(ENV):
                why = f"the value of '{name}' would be sent to Spark's workers"
                fix = f"give the name of a variable that the workers have: '{name}': 'env:NAME'"
                raise error("STORE_OPTION", name=name, why=why, fix=fix)
        return ObjectStore, (self.bucket, self.options)

    @property
    def client(self) -> Any:
        if self._pid != os.getpid():
            values = self._values()
            client = {name: value for name, value in values.items() if name in CLIENT}
            config = {name: value for name, value in values.items() if name not in CLIENT}
            if any(each.startswith("http://") for each in (*config.values(), os.environ.get("AWS_ENDPOINT_URL", ""))):
                client.setdefault("allow_http", "true")
            try:
                make = cast(Any, from_url)
                self._client = make(self.bucket, config=config, client_options=client, retry_config=RETRIES)
            except (BaseError, ValueError) as failure:
                key = _OF_OPTION.search(str(failure))
                name, fix = key[1] if key else "storage_options", "see the options of object stores in the guide"
                raise error(
                    "STORE_OPTION", name=name, why=_why(failure, PurePosixPath("/", self._root)), fix=fix
                ) from failure
            self._pid = os.getpid()
        return self._client

    def _values(self) -> dict[str, str]:
        """The options with values instead of names of variables. Secrets are masked from now on in all output."""
        values = {name: _value(name, value) for name, value in self.options.items()}
        known = {name.lower(): value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        for name, value in [*known.items(), *values.items()]:
            if _is_secret(name):
                keep_out(value)
            # obstore would abort the thread.
            if "endpoint" in name and not _SERVER.match(value):
                fix = "give the address of the server with its protocol, like https://storage.example.org:9000"
                raise error("STORE_OPTION", name=name, why=f"'{masked(value)}' is no address", fix=fix)
        return values

    def delta_options(self) -> dict[str, str]:
        """The options for delta-rs."""
        values = self._values()
        if any(value.startswith("http://") for value in values.values()):
            values.setdefault("allow_http", "true")
        return values

    # -- acts --------------------------------------------------------------------------------------

    def put(self, path: PurePath, data: bytes) -> None:
        with _failures(path):
            obstore.put(self.client, self._key(path), data)

    def create(self, path: PurePath, data: bytes, before_name: Callable[[], None] | None = None) -> None:
        if before_name:
            before_name()
        with _failures(path):
            obstore.put(self.client, self._key(path), data, mode="create")

    def read(self, path: PurePath, start: int = 0, length: int | None = None) -> bytes:
        with _failures(path):
            if start == 0 and length is None:
                return bytes(obstore.get(self.client, self._key(path)).bytes())
            if length is None:
                length = max(self.size(path) - start, 0)
            return bytes(obstore.get_range(self.client, self._key(path), start=start, length=length)) if length else b""

    def names(self, folder: PurePath) -> list[str]:
        with _failures(folder):
            found = obstore.list_with_delimiter(self.client, self._key(folder))
            paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
            return sorted(PurePosixPath(path).name for path in paths)

    def walk(self, folder: PurePath) -> Iterator[PurePath]:
        return (path for path, _ in self.sizes(folder))

    def sizes(self, folder: PurePath) -> Iterator[tuple[PurePath, int]]:
        prefix = self._key(folder)
        with _failures(folder):
            for batch in obstore.list(self.client, prefix):
                yield from ((folder / each["path"].removeprefix(f"{prefix}/"), each["size"]) for each in batch)

    def each(self, act: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(act, items))

    def size(self, path: PurePath) -> int:
        with _failures(path):
            return int(obstore.head(self.client, self._key(path))["size"])

    def delete(self, path: PurePath) -> None:
        self._recent.drop(path)
        with _failures(path):
            try:
                obstore.delete(self.client, self._key(path))
            except FileNotFoundError:
                return

    def delete_all(self, paths: Collection[PurePath]) -> None:
        for path in paths:
            self._recent.drop(path)
        if paths:
            with _failures(next(iter(paths))), suppress(FileNotFoundError):
                obstore.delete(self.client, [self._key(path) for path in paths])

    def delete_folder(self, folder: PurePath) -> None:
        self.delete_all(list(self.walk(folder)))

    @contextmanager
    def reader(self, path: PurePath) -> Iterator[BinaryIO]:
        recent = self._recent.get(path)
        if recent is not None:
            yield io.BytesIO(recent)
            return
        with _failures(path):
            file = obstore.open_reader(self.client, self._key(path))
            yield cast(BinaryIO, io.BufferedReader(_Readable(file)))

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        with tempfile.SpooledTemporaryFile(max_size=MEMORY) as file:
            yield cast(BinaryIO, file)
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            data = file.read() if size <= RECENT_FILE else None
            with _failures(path):
                obstore.put(self.client, self._key(path), file if data is None else data)
            if data is not None:
                self._recent.add(path, data)

    def write_new(self, files: Mapping[PurePath, bytes], written: Callable[[PurePath], None]) -> None:
        if len(files) < 2:
            super().write_new(files, written)
            return
        with ThreadPoolExecutor(min(len(files), MOST_AT_ONCE), "presage-put") as pool:
            writing = {pool.submit(self._write, path, data): path for path, data in files.items()}
            for done in as_completed(writing):
                done.result()
                written(writing[done])

    def _write(self, path: PurePath, data: bytes) -> None:
        with self.writer(path) as file:
            file.write(data)

    def flush(self, path: PurePath) -> None:
        """Objects are durable once they are written."""

    def delta_table(self, folder: PurePath) -> DeltaTable:
        from deltalake import DeltaTable  # its loading takes longer than a small query

        return DeltaTable(self.address(folder), storage_options=self.delta_options())

    def address(self, path: PurePath) -> str:
        return f"{self._scheme}:/{path}"

    def path(self, address: str) -> PurePosixPath:
        """The path of an address in this bucket."""
        return PurePosixPath("/" + address.partition("://")[2].rstrip("/"))

    def is_folder(self, path: PurePath) -> bool:
        with _failures(path):
            return any(batch for batch in obstore.list(self.client, self._key(path) + "/", chunk_size=1))

    # -- the rest ----------------------------------------------------------------------------------

    def _key(self, path: PurePath) -> str:
        return str(path).removeprefix(f"/{self._root}").removeprefix("/")

    def probe(self, folder: PurePath) -> None:
        """Refuse a store that lets two writers create one object."""
        path = folder / f"{PROBE}{uuid.uuid4().hex}"
        self.create(path, b"1")
        try:
            self.create(path, b"2")
        except FileExistsError:
            return
        finally:
            self.delete(path)
        raise error("STORE_UNSAFE", path=self.address(folder))


class _Readable(io.RawIOBase):
    """obstore's reader as Python's, which Arrow and buffers expect."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        data = bytes(self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def open_bucket(address: str, options: Mapping[str, str] | None = None) -> tuple[ObjectStore, PurePosixPath]:
    """The store of the bucket of an address, and the path in it."""
    scheme, _, rest = address.partition("://")
    store = ObjectStore(f"{scheme}://{rest.partition('/')[0]}", options)
    return store, store.path(address)


def opened_at(address: str) -> tuple[ObjectStore, PurePosixPath]:
    """Like `open_bucket`, with the store of this process if one is open."""
    scheme, _, rest = address.partition("://")
    bucket = f"{scheme}://{rest.partition('/')[0]}"
    store = _stores.get((bucket, os.getpid())) or ObjectStore(bucket)
    return store, store.path(address)


@contextmanager
def _failures(path: PurePath) -> Iterator[None]:
    """obstore's failures as those of the file system; it raises FileNotFoundError by itself."""
    try:
        yield
    except FileNotFoundError as missing:
        raise FileNotFoundError(2, "there is no such object", str(path)) from missing
    except AlreadyExistsError as exists:
        raise FileExistsError(17, "the object exists", str(path)) from exists
    except NotSupportedError as failure:
        raise error("STORE_UNSAFE", path=path) from failure
    except BaseError as failure:
        raise StoreError(_why(failure, path)) from failure
    except OSError as failure:  # of obstore's reader
        if isinstance(failure, StoreError) or not is_unanswered(failure):
            raise
        raise StoreError(_why(failure, path)) from failure
    except BaseException as failure:
        if type(failure).__name__ != "PanicException":  # obstore's, for an endpoint that is no URL
            raise
        raise StoreError(str(failure).splitlines()[0]) from failure


def _why(failure: Exception, path: PurePath) -> str:
    """What a store answered, or that it did not, in one line. Without parameters of addresses: they may be secret."""
    text, _, details = str(failure).partition("Debug source:")
    code, status = _CODE.search(text), _STATUS.search(text)
    if code and code[1] in _NO_BUCKET:
        return f"there is no bucket '{path.parts[1]}' ({code[1]})"
    if code:
        message = _MESSAGE.search(text)
        parts = [code[1], *([message[1].strip().splitlines()[0]] if message and message[1].strip() else [])]
        return masked(": ".join(parts) + (f" ({status[1]})" if status else ""))
    request, kind = _REQUEST.search(text), _KIND.search(details)
    if request and not status:
        why = _LOST.get(kind[1] if kind else "", "the connection was lost")
        return masked(f"{request[1].partition('?')[0]}: {why}, for {request[2]} {request[3]}")
    return masked(_PARAMETERS.sub("", first_line(failure)))


def _is_secret(name: str) -> bool:
    return any(part in name for part in SECRET)


def _value(name: str, value: str) -> str:
    if not value.startswith(ENV):
        return value
    variable = value.removeprefix(ENV)
    if variable not in os.environ:
        why = f"the environment has no variable '{variable}'"
        raise error(
            "STORE_OPTION", name=name, why=why, fix=f"set {variable}, in the environment of Spark's workers too"
        )
    return os.environ[variable]
