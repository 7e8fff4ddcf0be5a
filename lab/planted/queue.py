#!/usr/bin/env python3
"""Lets every packet of a namespace's queue pass, after so many microseconds of work.

usage: queue.py NUMBER MICROSECONDS    in the namespace whose rule has `-j NFQUEUE --queue-num NUMBER`; needs root

What intrusion prevention and filters by content do with NFQUEUE: linux/netfilter/nfnetlink_queue.h.
"""
import socket
import struct
import sys
import time

NETLINK_NETFILTER, QUEUE = 12, 3 << 8
PACKET, VERDICT, CONFIG = QUEUE, QUEUE | 1, QUEUE | 2
REQUEST = 1
HEADER, GENERAL, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct(">BBH"), struct.Struct("=HH")
# Attributes: of a packet its number, of a verdict what becomes of it, of the queue a command and how much is copied.
PACKET_NUMBER, VERDICT_OF, COMMAND, COPY = 1, 2, 1, 2
BIND, HEADERS_ALONE, ACCEPT = 1, 1, 1

number, work_s = int(sys.argv[1]), int(sys.argv[2]) / 1e6
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
link.bind((0, 0))


def say(kind, attribute, value):
    body = ATTRIBUTE.pack(ATTRIBUTE.size + len(value), attribute) + value
    body = GENERAL.pack(0, 0, number) + body + b"\0" * (-len(body) % 4)
    link.send(HEADER.pack(HEADER.size + len(body), kind, REQUEST, 0, 0) + body)


say(CONFIG, COMMAND, struct.pack(">BxH", BIND, socket.AF_INET))
say(CONFIG, COPY, struct.pack(">IB", 0, HEADERS_ALONE))
while True:
    try:
        text = link.recv(1 << 16)
    except OSError:
        # More packets than the socket takes: the kernel dropped some.
        continue
    at = 0
    while at + HEADER.size <= len(text):
        size, kind, *_ = HEADER.unpack_from(text, at)
        if kind == PACKET:
            until = time.perf_counter() + work_s
            begin = at + HEADER.size + GENERAL.size
            while begin + ATTRIBUTE.size <= at + size:
                length, attribute = ATTRIBUTE.unpack_from(text, begin)
                if attribute & 0x3FFF == PACKET_NUMBER:
                    (packet,) = struct.unpack_from(">I", text, begin + ATTRIBUTE.size)
                begin += (length + 3) & ~3
            while time.perf_counter() < until:
                pass
            say(VERDICT, VERDICT_OF, struct.pack(">II", ACCEPT, packet))
        at += max((size + 3) & ~3, HEADER.size)
