# SPDX-License-Identifier: MIT
"""Clients of ldapd: sockets, and connections of python-ldap."""
import socket

import ldap

from ber import message_end
from server import PASSWORD, SUFFIX


def connect(running):
    return socket.create_connection(("127.0.0.1", running.port), 60)


def read_to_end(stream):
    """Everything until the server closes the connection."""
    data = b""
    while True:
        try:
            more = stream.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def read_messages(stream, count):
    """`count` messages."""
    data, messages = b"", []
    while len(messages) < count:
        end = message_end(data)
        if end:
            messages.append(data[:end])
            data = data[end:]
            continue
        more = stream.recv(65536)
        assert more, "the server closed the connection"
        data += more
    return messages


def client(running, dn=None):
    """A client of python-ldap, bound as root or anonymous."""
    connection = ldap.initialize(running.uri)
    connection.set_option(ldap.OPT_NETWORK_TIMEOUT, 60)
    connection.set_option(ldap.OPT_TIMEOUT, 60)
    if dn:
        connection.simple_bind_s(dn, PASSWORD)
    return connection


def monitored(connection, name, dn="cn=server,cn=monitor"):
    """A number of cn=monitor."""
    _, entry = connection.search_s(dn, ldap.SCOPE_BASE, attrlist=[name])[0]
    return int(entry[name][0])


def answers(running):
    """The server serves a fresh client."""
    connection = client(running)
    result = connection.search_s(SUFFIX, ldap.SCOPE_BASE)
    connection.unbind_s()
    return len(result) == 1


def try_answer(running):
    try:
        return answers(running)
    except ldap.LDAPError:
        return False
