"""Inheritance of a worker from its parent."""

from __future__ import annotations

import os
import socket
import tempfile

from commonplace import WORKER_VARIABLE
from commonplace.faces.access.callers import Bucket
from commonplace.faces.access.used_once import SECRET_BYTES
from commonplace.faces.http.inherited import SHARED_BYTES, Frame, Inherited, Kind, channel_pair, inherited, write_secret


def test_a_process_that_is_no_worker_inherits_nothing() -> None:
    assert inherited({"HOME": "/"}) is None


def test_a_worker_gets_its_files_and_takes_them_out_of_its_environment() -> None:
    with tempfile.TemporaryFile() as shared, socket.socket() as listener:
        shared.truncate(SHARED_BYTES)
        secret = os.urandom(SECRET_BYTES)
        write_secret(shared.fileno(), secret)
        ours, theirs = channel_pair()
        files = [os.dup(other_socket.fileno()) for other_socket in (listener, theirs, shared)]
        theirs.close()
        for file in files:
            os.set_inheritable(file, True)
        given_inherited = Inherited(7, 1, 2, *files)
        environment = {"HOME": "/", **given_inherited.in_environment()}
        candidate = inherited(environment)
        assert candidate is not None
        assert environment == {"HOME": "/"}
        assert WORKER_VARIABLE in given_inherited.in_environment()
        assert (candidate.number, candidate.row, candidate.count, candidate.files) == (7, 1, 2, tuple(files))
        assert not any(map(os.get_inheritable, files)), "not for the commands that a worker starts"
        candidate.board.connections(5)
        candidate.buckets.change("a", lambda _: Bucket(3.0, 1.0))
        assert candidate.secret == secret, "board and buckets lie beside it"
        candidate.channel.send(Frame(Kind.SERVING))
        assert ours.receive() == [Frame(Kind.SERVING)]
        candidate.listener.close()
        candidate.channel.close()
        ours.close()
        candidate.board.close()
        candidate.buckets.close()
        os.close(candidate.shared_file)
