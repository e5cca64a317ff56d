from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.model.secrets import Secrets
from presage.spark.kafka import client_settings, kafka_says, masked


def test_user_and_password_become_what_kafka_wants_and_are_masked_in_what_is_said() -> None:
    secrets = Secrets("stream 'Fault'", {"KAFKA_PASSWORD": 'open"sesame\\'})
    options = {
        "topic": "t",
        "user": "me",
        "password": "env:KAFKA_PASSWORD",
        "kafka.security.protocol": "SASL_PLAINTEXT",
    }
    settings = client_settings(options, secrets, "a:1")
    assert settings["bootstrap.servers"] == "a:1"
    assert settings["security.protocol"] == "SASL_PLAINTEXT"
    assert settings["sasl.mechanism"] == "PLAIN"
    assert settings["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="open\\"sesame\\\\";'
    )
    told = masked(secrets, f"SaslException: {settings['sasl.jaas.config']}, {'open' + chr(34) + 'sesame' + chr(92)}")
    assert "sesame" not in told


def test_scram_has_a_login_of_its_own() -> None:
    options = {"user": "me", "password": "pass", "kafka.sasl.mechanism": "SCRAM-SHA-512"}
    assert "scram.ScramLoginModule" in client_settings(options, Secrets("x", {}), "a:1")["sasl.jaas.config"]


def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(PresageError) as refused:
        client_settings({"kafka.sasl.jaas.config": "env:JAAS"}, Secrets("stream 'Fault'", {}), "a:1")
    assert "stream 'Fault' needs the variable JAAS of the environment" in str(refused.value)


def test_what_kafka_says_is_found_below_what_spark_says() -> None:
    text = """Job aborted due to stage failure: Task 0 failed 1 times
        org.apache.spark.SparkException: something
        Caused by: org.apache.kafka.common.errors.TimeoutException: no answer in 20000 ms
        at x.y(Z.java:1)"""
    assert kafka_says(RuntimeError(text)) == ("TimeoutException", "no answer in 20000 ms")
    assert kafka_says(RuntimeError("plain")) == ("RuntimeError", "plain")
