"""Stores: what processes share while they find each other."""

import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import links
import pytest

import mindtorch_v2.distributed as dist

SOON = timedelta(milliseconds=100)


def _tcp(folder):
    return dist.TCPStore("localhost", 0, 1, is_master=True, timeout=timedelta(seconds=20))


STORES = {
    "hash": lambda folder: dist.HashStore(),
    "file": lambda folder: dist.FileStore(str(folder / "store"), 1),
    "tcp": _tcp,
    "prefix": lambda folder: dist.PrefixStore("job", _tcp(folder)),
}


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return STORES[request.param](tmp_path)


def test_a_value_is_what_was_set_last(store):
    store.set("key", "text")
    assert store.get("key") == b"text"
    store.set("key", b"\x00\xff")
    assert store.get("key") == b"\x00\xff"


def test_counters_begin_at_zero_and_are_kept_as_digits(store):
    assert [store.add("count", 2), store.add("count", -5)] == [2, -3]
    assert store.get("count") == b"-3"


def test_what_is_no_number_cannot_be_counted(store):
    store.set("key", "text")
    with pytest.raises(ValueError, match="is no number"):
        store.add("key", 1)
    assert store.get("key") == b"text"


def test_a_value_is_replaced_only_if_it_is_the_expected_one(store):
    assert store.compare_set("key", "", "first") == b"first"
    assert store.compare_set("key", "other", "second") == b"first"
    assert store.compare_set("key", "first", "second") == b"second"
    assert store.compare_set("absent", "expected", "desired") == b"expected"
    assert not store.check(["absent"])


def test_several_keys_at_once(store):
    store.multi_set(["a", "b"], ["1", "2"])
    assert store.multi_get(["b", "a"]) == [b"2", b"1"]
    store.append("a", "3")
    store.append("new", "x")
    assert store.multi_get(["a", "new"]) == [b"13", b"x"]


def test_keys_are_counted_listed_and_deleted(store):
    store.set("a", "1")
    store.set("b", "2")
    assert sorted(key for key in store.list_keys() if not key.startswith("init/")) == ["a", "b"]
    before = store.num_keys()
    assert store.delete_key("a")
    assert not store.delete_key("a")
    assert store.num_keys() == before - 1
    assert not store.check(["a", "b"])


def test_waiting_ends_when_another_thread_sets_the_key(store):
    other = store.clone()
    thread = threading.Thread(target=lambda: (other.wait(["asked"]), other.set("late", "here")))
    thread.start()
    store.set("asked", "1")
    store.wait(["late"], timedelta(seconds=10))
    assert store.get("late") == b"here"
    thread.join()


def test_waiting_in_vain_says_so_in_time(store):
    began = time.monotonic()
    with pytest.raises(dist.DistStoreError, match=r"[tT]imeout"):
        store.wait(["never"], SOON)
    store.set_timeout(SOON)
    with pytest.raises(dist.DistStoreError):
        store.get("never")
    assert time.monotonic() - began < 5
    store.set("after", "1")
    assert store.get("after") == b"1"


@pytest.mark.parametrize("kind", ["hash", "tcp"])
def test_queues_give_values_in_order(kind, tmp_path):
    store = STORES[kind](tmp_path)
    store.queue_push("work", "a")
    store.queue_push("work", "b")
    assert store.queue_len("work") == 2
    assert [store.queue_pop("work"), store.queue_pop("work")] == [b"a", b"b"]
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("work", block=False)
    store.set_timeout(SOON)
    with pytest.raises(dist.DistStoreError):
        store.queue_pop("work")


def test_a_prefix_keeps_users_apart():
    whole = dist.HashStore()
    left, right = dist.PrefixStore("left", whole), dist.PrefixStore("right", dist.PrefixStore("deep", whole))
    left.set("key", "1")
    right.set("key", "2")
    assert sorted(whole.list_keys()) == ["deep/right/key", "left/key"]
    assert left.list_keys() == ["key"]


_CLIENT = """
import sys
from datetime import timedelta
import mindtorch_v2.distributed as dist
store = dist.TCPStore("localhost", int(sys.argv[1]), 3, timeout=timedelta(seconds=30))
rank = store.add("rank", 1)
store.set(f"from {rank}", str(rank * 10))
store.barrier("together", 3)
print(store.get("greeting").decode())
"""


def test_processes_meet_in_a_tcp_store():
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    # Before the server is there: they try again.
    clients = [
        subprocess.Popen([sys.executable, "-c", _CLIENT, str(port)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    store = dist.TCPStore("localhost", port, 3, is_master=True, timeout=timedelta(seconds=30))
    assert store.multi_get(["from 1", "from 2"]) == [b"10", b"20"]
    store.set("greeting", "hello")
    store.barrier("together", 3)
    assert [client.communicate(timeout=30)[0] for client in clients] == ["hello\n"] * 2


def test_a_server_that_is_not_there_is_named():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
        with pytest.raises(dist.DistNetworkError, match=f"localhost, {port}.*MASTER_ADDR"):
            dist.TCPStore("localhost", port, 1, timeout=SOON)


def test_a_server_that_waits_for_others_says_how_many_came():
    with pytest.raises(dist.DistStoreError, match="1/3 clients joined"):
        dist.TCPStore("localhost", 0, 3, is_master=True, timeout=SOON)


def test_a_port_that_is_taken_is_named():
    store = dist.TCPStore("localhost", 0, 1, is_master=True)
    with pytest.raises(RuntimeError, match=f"failed to listen on port {store.port}"):
        dist.TCPStore("localhost", store.port, 1, is_master=True)


def test_a_client_that_speaks_nonsense_is_dropped_and_the_others_go_on():
    store = dist.TCPStore("localhost", 0, 1, is_master=True, timeout=timedelta(seconds=20))
    for nonsense in (
        b"\xff" * 64,
        b"\x08\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00",
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("localhost", store.port), 10) as stranger:
            stranger.sendall(nonsense + b"\x00" * 64)
            stranger.settimeout(10)
            assert stranger.recv(64) == b""
    store.set("key", "value")
    assert store.get("key") == b"value"


def test_a_server_that_ends_is_named_by_those_it_leaves():
    server = dist.TCPStore("localhost", 0, 1, is_master=True, timeout=timedelta(seconds=2))
    client = dist.TCPStore("localhost", server.port, timeout=timedelta(seconds=2), wait_for_workers=False)
    client.set("key", "value")
    del server
    with pytest.raises(dist.DistNetworkError, match="Did the process that serves it end"):
        client.add("count", 1)


@pytest.fixture
def linked():
    """A store, a link to it, and a client at the other end."""
    server = dist.TCPStore("localhost", 0, 1, is_master=True, timeout=timedelta(seconds=20))
    link = links.Link(server.port)
    client = dist.TCPStore("127.0.0.1", link.port, timeout=timedelta(seconds=2), wait_for_workers=False)
    client.set("key", "value")
    yield server, link, client
    link.close()


def test_a_link_that_becomes_silent_is_an_error_within_the_time_limit(linked):
    server, link, client = linked
    link.be_silent()
    for call, what in (
        (lambda: client.get("key"), "get of 'key'"),
        (lambda: client.add("count", 1), "add of 'count'"),
        (lambda: client.wait(["key", "other"], SOON), "wait of 'key'"),
    ):
        began = time.monotonic()
        with pytest.raises(dist.DistNetworkError, match=f"did not answer {what} within .* connection is cut"):
            call()
        assert time.monotonic() - began < 6
    assert server.get("key") == b"value"


def test_a_link_that_is_reset_is_made_again_where_nothing_can_happen_twice(linked):
    server, link, client = linked
    link.reset()
    assert client.get("key") == b"value"
    link.reset()
    client.set("key", "new")
    assert server.get("key") == b"new"
    link.reset()
    with pytest.raises(dist.DistNetworkError, match="broke during add"):
        client.add("count", 1)
    assert client.add("count", 1) in (1, 2)  # the one before may have arrived
    link.close()
    with pytest.raises(dist.DistNetworkError):
        client.get("key")
