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
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError
from obstore.store import from_url

from presage.errors import error
from presage.storage.store import Found, Item, Store

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Options of the connection, which obstore takes apart from those of the service.
CLIENT = {"allow_http", "timeout", "connect_timeout", "proxy_url", "allow_invalid_certificates", "user_agent"}
ENV = "env:"
_CODE = re.compile("<Code>([A-Za-z]+)</Code>")
PROBE = "probe-"  # prefix of an object that tries whether the store refuses to overwrite
# Throttling and lost connections are retried for so long; a home must then say that its store does not answer.
RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=20)}
SECRET = ("secret", "password", "token", "access_key", "account_key", "sas", "credential")  # in names of options
AT_ONCE = 16  # requests, where many objects are read
MEMORY = 64 << 20  # bytes of a file that is written; a larger one waits on the local disk
_stores: dict[tuple[str, int], ObjectStore] = {}  # by bucket and process, for `opened_at`


class StoreError(OSError):
    """A request to an object store failed, for another reason than that the object is missing or exists."""

    fix = "check the bucket, its credentials and the network"


class ObjectStore(Store):
    """The objects of one bucket. `options`: as of obstore and delta-rs, such as `aws_endpoint`; a value may name a
    variable of the environment: `env:NAME`. Variables such as AWS_ACCESS_KEY_ID count as usual."""

    def __init__(self, bucket: str, options: Mapping[str, str] | None = None) -> None:
        self.bucket = bucket  # `s3://bucket`
        self._scheme, _, self._root = bucket.partition("://")
        self.options = {name.lower(): str(value) for name, value in (options or {}).items()}
        self._client: Any = None
        self._pid = 0
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
            values = {name: _value(name, value) for name, value in self.options.items()}
            client = {name: value for name, value in values.items() if name in CLIENT}
            config = {name: value for name, value in values.items() if name not in CLIENT}
            if any(each.startswith("http://") for each in (*config.values(), os.environ.get("AWS_ENDPOINT_URL", ""))):
                client.setdefault("allow_http", "true")
            try:
                make = cast(Any, from_url)
                self._client = make(self.bucket, config=config, client_options=client, retry_config=RETRIES)
            except (BaseError, ValueError) as failure:
                raise StoreError(str(failure).splitlines()[0]) from failure
            self._pid = os.getpid()
        return self._client

    def delta_options(self) -> dict[str, str]:
        """The options for delta-rs."""
        values = {name: _value(name, value) for name, value in self.options.items()}
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
        return int(self._head(path)["size"])

    def modified(self, path: PurePath) -> float:
        return float(self._head(path)["last_modified"].timestamp())

    def _head(self, path: PurePath) -> Mapping[str, Any]:
        with _failures(path):
            return cast(Mapping[str, Any], obstore.head(self.client, self._key(path)))

    def delete(self, path: PurePath) -> None:
        with _failures(path):
            try:
                obstore.delete(self.client, self._key(path))
            except FileNotFoundError:
                return

    def delete_folder(self, folder: PurePath) -> None:
        paths = [self._key(path) for path in self.walk(folder)]
        if paths:
            with _failures(folder):
                obstore.delete(self.client, paths)

    @contextmanager
    def reader(self, path: PurePath) -> Iterator[BinaryIO]:
        with _failures(path):
            file = obstore.open_reader(self.client, self._key(path))
            yield cast(BinaryIO, io.BufferedReader(_Readable(file)))

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        with tempfile.SpooledTemporaryFile(max_size=MEMORY) as file:
            yield cast(BinaryIO, file)
            file.seek(0)
            with _failures(path):
                obstore.put(self.client, self._key(path), file)

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
    except BaseException as failure:
        if type(failure).__name__ != "PanicException":  # obstore's, for an endpoint that is no URL
            raise
        raise StoreError(str(failure).splitlines()[0]) from failure


def _why(failure: BaseError, path: PurePath) -> str:
    """What the service says, in a line: it answers with a page of XML, whose code tells most."""
    code = _CODE.search(str(failure))
    if code is not None and code[1] in ("NoSuchBucket", "NoSuchContainer", "ContainerNotFound"):
        return f"there is no bucket '{path.parts[1]}'"
    said = str(failure).splitlines()[0].partition(": <?xml")[0]
    return said if code is None else f"{code[1]}: {said}"


def _is_secret(name: str) -> bool:
    return any(
        part in name for part in ("secret", "password", "token", "access_key", "account_key", "sas", "credential")
    )


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
