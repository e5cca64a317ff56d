"""Settings of Kafka's own clients that statements may give: the allow-list, shared by sources and sinks.

Settings that name a class, a program or a provider of configuration are not on it: they would run code or read files
with the engine's rights. Files must lie under the roots, and a token service is checked as any other host.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from presage.declarations.options import check_one_of
from presage.errors import error
from presage.model.text import Span

PREFIX = "kafka."  # of options that are settings of Kafka's own client
_SSL_STORE = ("location", "password", "type", "certificates", "certificate.chain", "key")
FILES = tuple(f"ssl.{store}.location" for store in ("keystore", "truststore"))
# In this order: connections, authentication, TLS, consumers, producers.
_SETTINGS = """
client.id client.rack client.dns.lookup connections.max.idle.ms default.api.timeout.ms metadata.max.age.ms
metadata.max.idle.ms metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms receive.buffer.bytes
send.buffer.bytes reconnect.backoff.ms reconnect.backoff.max.ms request.timeout.ms retries retry.backoff.ms
retry.backoff.max.ms socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms security.protocol
enable.metrics.push metrics.num.samples metrics.recording.level metrics.sample.window.ms
sasl.mechanism sasl.jaas.config sasl.kerberos.service.name sasl.kerberos.min.time.before.relogin
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.connect.timeout.ms
sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
sasl.login.retry.backoff.ms sasl.oauthbearer.header.urlencode sasl.oauthbearer.scope.claim.name
sasl.oauthbearer.sub.claim.name
ssl.key.password ssl.protocol ssl.enabled.protocols ssl.cipher.suites ssl.endpoint.identification.algorithm
ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.secure.random.implementation
allow.auto.create.topics check.crcs exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id
group.instance.id heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms
max.poll.records session.timeout.ms
acks batch.size buffer.memory compression.type compression.gzip.level compression.lz4.level compression.zstd.level
delivery.timeout.ms enable.idempotence linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.ignore.keys
transaction.timeout.ms
"""
_STORES = (f"ssl.{store}.{what}" for store in ("keystore", "truststore") for what in _SSL_STORE)
SETTINGS = frozenset((*_SETTINGS.split(), *_STORES))
_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_IAM = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
# Classes that only log in.
CLASSES = {
    "sasl.login.callback.handler.class": (
        f"{_OAUTH}OAuthBearerLoginCallbackHandler",
        f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler",
        _IAM,
    ),
    "sasl.client.callback.handler.class": (_IAM,),
}
TOKENS = "sasl.oauthbearer.token.endpoint.url"
_KNOWN = (*SETTINGS, *CLASSES, TOKENS)
# Settings that Presage sets itself, with the option to use instead.
_OURS = {
    "bootstrap.servers": "write servers = 'host:port'",
    "auto.offset.reset": "write start = 'earliest' or 'latest'",
    "enable.auto.commit": "leave it out: the log holds the offsets, with the events",
    "key.deserializer": "write format = 'json' or 'csv'",
    "value.deserializer": "write format = 'json' or 'csv'",
    "key.serializer": "leave it out: a key is the id of a row, as text",
    "value.serializer": "leave it out: a value is a row, as JSON",
    "interceptor.classes": "leave it out: no class may be named",
}


def check_setting(owner: str, name: str, value: str, span: Span | None = None) -> None:
    """Refuse an option `kafka.…` that statements may not give."""
    setting = name.removeprefix(PREFIX)
    if setting not in _KNOWN:
        fix = _OURS.get(setting) or "leave it out, or give one that docs/guide/sources.md lists"
        raise error("UNKNOWN_OPTION", span, name=name, owner=owner, fix=fix)
    check_one_of(name, value, CLASSES.get(setting, (value,)), span)
    if setting == TOKENS and urlsplit(value).scheme not in ("http", "https"):
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected="an address of https:// or http://")
