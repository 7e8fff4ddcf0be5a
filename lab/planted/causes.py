"""What is planted: where, how, what is run, and the words that a right answer has.

`plant(name, run, want, half)`: `want` must be found in the name and sentence of a finding, or in an error; `half` is
what names the consequence and not the cause. Further words: `remedy` (must be in a remedy), `wrong` (must be in none),
`middle` (what the link between does to packets, there and back; see middle.c), `do` (lines run in a namespace: a near,
m middle, b far), `kids` (what runs there meanwhile), `serve_with` and `run_with` (before the commands), `quota_a` and
`quota_b` (microseconds of CPU time in each 100 ms), `limit` and `not_limit` (the limit's sentence has it, or has it not), `cc` (congestion control of both ends). A name that begins with
`ok` is healthy: nothing may be found.
"""
import os

CAUSES = []


def plant(name, run, want, half=None, **more):
    CAUSES.append(dict(name=name, run=run, want=want, half=half, **more))


TBF = "tc qdisc add dev {} root tbf rate {} burst {} latency {}"
def tbf(dev, rate="200mbit", burst="64kb", latency="30ms"): return TBF.format(dev, rate, burst, latency)
def nft(rule, hook="forward"):
    return f"nft add table inet t; nft 'add chain inet t c {{ type filter hook {hook} priority 0; }}'; nft 'add rule inet t c {rule}'".replace("$", "")

SHAPE = r"shaper|shaped|token bucket|tbf|htb"
# Shapers and policers.
plant("shaper-near", "tcp", SHAPE, do=[("a", tbf("a0"))])
plant("shaper-far-R", "tcp -R", SHAPE, do=[("b", tbf("b0"))])
plant("htb-far-R", "tcp -R", SHAPE, do=[("b", "tc qdisc add dev b0 root handle 1: htb default 1; tc class add dev b0 parent 1: classid 1:1 htb rate 150mbit ceil 150mbit")])
plant("shaper-middle", "tcp", SHAPE, do=[("m", tbf("m1"))])
plant("shaper-middle-R", "tcp -R", SHAPE, do=[("m", tbf("m0", "300mbit"))])
plant("shaper-middle-P4", "tcp -P 4", SHAPE, do=[("m", tbf("m1", "400mbit"))])
plant("policer-middle", "tcp", r"polic", SHAPE, do=[("m", nft("iifname m0 limit rate over 25 mbytes/second burst 100 kbytes drop"))])
plant("policer-middle-R", "tcp -R", r"polic", SHAPE, do=[("m", nft("iifname m1 limit rate over 20 mbytes/second burst 64 kbytes drop"))])
plant("policer-fast", "tcp", r"polic", SHAPE, do=[("m", nft("iifname m0 limit rate over 62 mbytes/second burst 64 kbytes drop"))])
plant("policer-far-input", "tcp", r"polic|firewall", "retransm", do=[("b", nft("limit rate over 15 mbytes/second burst 200 kbytes drop", "input"))])
plant("pps-limit-middle", "tcp", r"polic|packets? (a|per) second|packet rate|rate limit", "retransm", do=[("m", nft("iifname m0 limit rate over 5000/second burst 100 packets drop"))])
plant("shaper-middle-udp", "udp -b 400M --explain", SHAPE+"|polic", "path", do=[("m", tbf("m1"))])
plant("policer-middle-udp", "udp -b 200M --explain", r"polic", "path", do=[("m", nft("iifname m0 limit rate over 12 mbytes/second burst 100 kbytes drop"))])
plant("pps-limit-udp", "udp -l 64 -b 20M --explain", r"policer|carries about|rate limit", "datagrams", wrong="no rate limit", do=[("m", nft("iifname m0 limit rate over 10000/second burst 100 packets drop"))])
plant("bufferbloat-middle", "tcp", r"queue|bufferbloat|buffer ?bloat", SHAPE, do=[("m", tbf("m1", "100mbit", "64kb", "250ms"))])
plant("ack-path-slow", "tcp", r"acknowledg|reverse|return path", None, do=[("m", tbf("m0", "1500kbit", "4kb", "200ms"))])
plant("tiny-queue-middle", "tcp", r"queue|buffer", "retransm", do=[("m", tbf("m1", "300mbit", "10kb", "1ms"))])
plant("three-packets-queue", "tcp", r"short queue|queue of|next to no queue|shaper", "polic", wrong="drops what comes faster", do=[("m", "tc qdisc add dev m1 root tbf rate 600mbit burst 64kb limit 5000")])
# Loss and order.
plant("loss-random", "tcp", r"loss|lost|drop|retransmitted", None, middle=("loss=10000,rate=300,queue=400", ""))
plant("loss-random-R", "tcp -R", r"loss|lost|drop|retransmitted", None, middle=("rate=300,queue=400", "loss=10000,rate=300,queue=400"))
plant("loss-bursts", "tcp", r"burst", "loss|lost|retransm", middle=("bad=300,spell=3000,from=600,rate=300,queue=400", ""))
plant("dark-spells", "tcp -t 3", r"outage|interrupt|stall|dark|pause|timeout", "loss|lost|retransm", middle=("dark=300,rate=300,queue=400", ""))
plant("loss-nft-far", "tcp", r"loss|lost|drop|retransmitted", None, do=[("b", nft("iifname b0 meta length > 1000 numgen random mod 100 == 0 drop", "input"))])
plant("loss-v6-only", "tcp -6", r"loss|lost|drop|retransmitted", None, do=[("m", nft("meta nfproto ipv6 numgen random mod 50 == 0 drop"))])
plant("loss-acks", "tcp", r"acknowledg|reverse", None, middle=("rate=300,queue=400", "loss=400000"))
plant("loss-udp", "udp -b 50M --explain", r"datagrams were lost", None, wrong="path-rate-limit", middle=("loss=50000,rate=300,queue=400", ""))
plant("reorder", "tcp", r"reorder|out of order", None, middle=("reorder=30000,late=3000,rate=300,queue=400", ""))
plant("reorder-R", "tcp -R", r"reorder|out of order", None, middle=("rate=300,queue=400", "reorder=30000,late=3000,rate=300,queue=400"))
plant("bad-member", "tcp -P 8 --explain", r"member of a bundle", "loss|lost|retransm", wrong="bbr limits", do=[("m", nft("tcp sport & 3 == 0 numgen random mod 100 < 5 drop"))])
plant("duplicates", "tcp", r"duplicat|twice", None, middle=("dup=200000,rate=300,queue=400", ""))
plant("corruption", "tcp", r"corrupt|checksum", "loss|lost|retransm", middle=("corrupt=10000,rate=300,queue=400", ""))
plant("corruption-udp", "udp -b 50M", r"corrupt|checksum", "loss|lost|path", middle=("corrupt=50000,rate=300,queue=400", ""))
plant("ecn-marks", "tcp", r"ecn|congestion experienced|mark", None, middle=("ce=20000,rate=300,queue=400", ""), do=[("a", "sysctl -qw net.ipv4.tcp_ecn=1"), ("b", "sysctl -qw net.ipv4.tcp_ecn=1")])
plant("jitter", "tcp --rr", r"jitter|vari", None, middle=("jitter=5000,rate=300,queue=400", "jitter=5000"))
# Windows and buffers, over 20 ms.
D20 = ("delay=10000,rate=300,queue=2000", "delay=10000")
plant("rmem-far", "tcp", r"receive.window|receiver.s buffer", "receiver|window", remedy=r"tcp_rmem", middle=D20, do=[("b", "sysctl -qw net.ipv4.tcp_rmem='4096 65536 131072'")])
plant("wmem-near", "tcp", r"send.buffer|sender.s buffer", None, remedy=r"tcp_wmem", middle=D20, do=[("a", "sysctl -qw net.ipv4.tcp_wmem='4096 16384 131072'")])
plant("wmem-far-R", "tcp -R", r"send.buffer|sender.s buffer", None, remedy=r"tcp_wmem", middle=D20, do=[("b", "sysctl -qw net.ipv4.tcp_wmem='4096 16384 131072'")])
plant("wscale-off-far", "tcp", r"window.scaling", "receiv", wrong="raise (the )?tcp_rmem|net.ipv4.tcp_rmem=", middle=D20, do=[("b", "sysctl -qw net.ipv4.tcp_window_scaling=0")])
plant("wscale-off-near", "tcp", r"window.scaling", "receiv", wrong="raise (the )?tcp_rmem|net.ipv4.tcp_rmem=", middle=D20, do=[("a", "sysctl -qw net.ipv4.tcp_window_scaling=0")])
plant("wscale-stripped-middle", "tcp", r"window.scaling", "receiv", wrong="raise (the )?tcp_rmem|net.ipv4.tcp_rmem=", middle=D20, do=[("m", nft("tcp flags syn reset tcp option window"))])
plant("autotune-off-far", "tcp", r"autotun|moderate_rcvbuf", "receiv", wrong="net.ipv4.tcp_rmem=", middle=D20, do=[("b", "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0")])
plant("autotune-off-near-R", "tcp -R", r"autotun|moderate_rcvbuf", "receiv", wrong="net.ipv4.tcp_rmem=", middle=D20, do=[("a", "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0")])
plant("route-window-far", "tcp", r"route", "receiv", wrong="net.ipv4.tcp_rmem=", middle=D20, do=[("b", "ip route replace default via 10.77.2.1 window 30000")])
plant("route-rto-min", "tcp --rr", r"rto_min", "timer|loss|lost", middle=("loss=10000,delay=1000,rate=300,queue=400", "delay=1000"), do=[("a", "ip route replace default via 10.77.1.1 rto_min 900ms")])
plant("sack-off-loss", "tcp", r"sack", "loss|retransm", middle=("loss=2000,delay=2000,rate=300,queue=400", "delay=2000"), do=[("b", "sysctl -qw net.ipv4.tcp_sack=0")])
plant("sack-stripped", "tcp", r"sack|selective", "loss|retransm", middle=("loss=2000,delay=2000,rate=300,queue=400", "delay=2000"), do=[("m", nft("tcp flags syn reset tcp option sack-perm"))])
plant("asked-window", "tcp -w 16K", r"buffer|window", None, remedy=r"--window|-w", middle=D20)
plant("rmem-tiny", "tcp", r"receive.window|receiver.s buffer", "receiver|window", remedy=r"tcp_rmem", wrong="sender's own host", do=[("b", "sysctl -qw net.ipv4.tcp_rmem='4096 8192 8192'")])
plant("wmem-tiny", "tcp", r"send.buffer|sender.s buffer", None, remedy=r"tcp_wmem", do=[("a", "sysctl -qw net.ipv4.tcp_wmem='4096 8192 8192'")])
plant("limit-output", "tcp", r"tcp_limit_output", None, do=[("a", "sysctl -qw net.ipv4.tcp_limit_output_bytes=2048")])
# Congestion control.
plant("cc-reno-lossy", "tcp --explain", r"congestion control|reno|bbr", "loss|retransm", middle=("delay=5000,loss=300,rate=300,queue=400", "delay=5000"), cc="reno")
plant("cc-bbr", "tcp --explain", r"congestion control|bbr", None, cc="bbr")
plant("cc-route-bbr", "tcp", r"congestion control|bbr", None, do=[("a", "ip route replace default via 10.77.1.1 congctl bbr")])
plant("shaper-under-bbr", "tcp", SHAPE, wrong="paced the sender", cc="bbr", do=[("m", tbf("m1", "500mbit"))])
plant("shaper-fast-under-bbr", "tcp", SHAPE, wrong="paced the sender", cc="bbr", do=[("m", tbf("m1", "3gbit", "512kb"))])
plant("cc-far-bbr-R", "tcp -R", r"congestion control|bbr", None, do=[("b", "sysctl -qw net.ipv4.tcp_congestion_control=bbr")])
# Offloads and segments.
plant("tso-gso-off-near", "tcp", r"tso|gso|segmentation", None, do=[("a", "ethtool -K a0 tso off gso off")])
plant("tso-gso-off-far-R", "tcp -R", r"tso|gso|segmentation", None, do=[("b", "ethtool -K b0 tso off gso off")])
plant("csum-off-near", "tcp", r"checksum", "segmentation|tso", do=[("a", "ethtool -K a0 tx off")])
plant("csum-off-far-R", "tcp -R", r"checksum", "segmentation|tso", do=[("b", "ethtool -K b0 tx off")])
plant("gso-max-segs", "tcp", r"gso|segmentation|super", None, do=[("a", "ip link set a0 gso_max_segs 1")])
plant("gso-max-size", "tcp", r"gso|segmentation|super", None, do=[("a", "ip link set a0 gso_max_size 3000")])
plant("mtu-small-middle", "tcp", r"mtu|segment", None, do=[("m", "ip link set m1 mtu 1000")])
plant("mss-clamped", "tcp", r"mss|segment|clamp", None, do=[("m", nft("tcp flags syn tcp option maxseg size set 500"))])
plant("advmss-route-far", "tcp", r"mss|segment", None, do=[("b", "ip route replace default via 10.77.2.1 advmss 536")])
plant("mtu-far-small", "tcp", r"mtu|segment", None, do=[("a", "ip link set a0 mtu 9000"), ("m", "ip link set m0 mtu 9000")])
plant("mtu-black-hole", "tcp", r"black hole|path mtu", None, do=[("a", "ip link set a0 mtu 9000"), ("b", "ip link set b0 mtu 9000"), ("m", "ip link set m0 mtu 9000; ip link set m1 mtu 1400; " + nft("icmp type destination-unreachable drop", "output"))])
plant("black-hole-middle", "tcp", r"black hole|path mtu", None, middle=("larger=1300,rate=300,queue=400", "larger=1300"))
plant("black-hole-R", "tcp -R", r"black hole|path mtu", None, middle=("rate=300,queue=400", "larger=1300,rate=300,queue=400"))
plant("fragments-dropped", "udp -l 4000 -b 50M", r"fragment", None, middle=("frag=1,rate=300,queue=400", ""))
plant("fragments-R", "udp -R -l 4000 -b 50M", r"fragment", None, middle=("rate=300,queue=400", "frag=1,rate=300,queue=400"))
plant("mss-asked", "tcp -M 300", r"mss|segment", None, remedy="-M|--mss")
plant("mtu-near-small", "tcp", r"mtu|segment", None, do=[("a", "ip link set a0 mtu 600")])
# Handshake.
plant("syn-loss", "tcp --connect", r"handshake|syn", None, middle=("syn=300000,rate=300,queue=400", ""))
plant("syn-with-ecn-dropped", "tcp --connect", r"ECN", "handshake|syn", do=[("a", "sysctl -qw net.ipv4.tcp_ecn=1"), ("m", nft("tcp flags & (syn|ack|ecn) == syn|ecn drop"))])
plant("syn-limit", "tcp --connect", r"handshake|syn|connection", None, do=[("m", nft("tcp flags syn / syn,ack limit rate over 200/second burst 20 packets drop"))])
plant("backlog-listen", "tcp --connect -P 16", r"listen|backlog|somaxconn", None, do=[("b", "sysctl -qw net.core.somaxconn=1")])
# CPUs.
plant("one-cpu-taskset", "tcp", r"one cpu|same.cpu|shared? (one|cpu|the)", None, run_with="taskset -c 0", serve_with="taskset -c 0")
plant("traced-far", "tcp", r"traced by|traces an end", None, remedy=r"detach", serve_with="strace -f -q -o /dev/null")
plant("hog-receiver", "tcp", r"other process|waited for a cpu|compet", None, machine=1, serve_with="taskset -c 1", kids=[("b", "taskset -c 1 nice -n -10 bash -c 'while :; do :; done'")])
plant("quota-near", "tcp", r"quota|cpu time", None, quota_a=20000)
plant("quota-far", "tcp", r"quota|cpu time", None, quota_b=20000)
plant("nice-far", "tcp", r"nice|priority|other process|waited for a cpu|compet", None, machine=1, serve_with="nice -n 19", kids=[("b", "taskset -c 0 bash -c 'while :; do :; done'"), ("b", "taskset -c 1 bash -c 'while :; do :; done'")])
plant("slow-router", "tcp", r"rules|softirq|middle|router|packets a second|between", None, do=[("m", "nft add table inet t; nft 'add chain inet t c { type filter hook forward priority 0; }'; for i in {1..3000}; do echo add rule inet t c tcp sport 1 tcp dport 2 ip daddr 1.2.3.4 drop; done | nft -f -")])
plant("filter-far-rr", "tcp --rr", r"on each packet", None, do=[("b", "nft add table inet t; nft 'add chain inet t c { type filter hook input priority 0; }'; for i in {1..20000}; do echo add rule inet t c tcp sport 1 tcp dport 2 ip daddr 1.2.3.4 drop; done | nft -f -")])
QUEUE = f"python3 {os.path.dirname(os.path.abspath(__file__))}/queue.py 0 20"
STOPS = "bash -c 'while :; do for s in STOP CONT; do for p in $(ip netns pids $(ip netns identify)); do read -r c < /proc/$p/comm; [ $c = narrows ] && kill -$s $p; done; sleep 0.15; done; done'"
plant("queued-to-program-near-R", "tcp -R", r"NFQUEUE", "loss|lost|shaper", limit=r"NFQUEUE", remedy=r"nft list ruleset", kids=[("a", QUEUE)], do=[("a", "iptables -A INPUT -i a0 -j NFQUEUE --queue-num 0")])
plant("receiver-stops", "tcp -t 2", r"stood still", None, kids=[("b", STOPS)])
# Messages.
plant("small-messages", "tcp -l 64", r"message|system call|write|small", None)
plant("small-udp", "udp -l 64", r"message|system call|datagram|packet", None)
plant("small-nodelay", "tcp -l 100 --nagle off", r"message|small|nagle|segment", None)
plant("rr-long-path", "tcp --rr", r"path|distance|round trip", None, middle=("delay=5000,rate=300,queue=400", "delay=5000"))
# What others planted that was missed or named wrongly: a path that changes, is shared, or treats some packets otherwise.
SWITCH = "bash -c 'while :; do for r in {}; do tc qdisc change dev m1 root tbf rate $r burst 32kb limit 150kb; sleep {}; done; done'"
ONE_LINE = ("ip link add ifb0 type ifb; ip link set ifb0 txqueuelen 1000 up; tc qdisc add dev ifb0 root tbf rate {} burst 16kb limit 100kb; "
            "for d in m0 m1; do tc qdisc add dev $d ingress; tc filter add dev $d parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0; done")
def changes(rates, every, queue="150kb"):
    return dict(do=[("m", f"tc qdisc add dev m1 root tbf rate {rates.split()[0]} burst 32kb limit {queue}")],
                kids=[("m", SWITCH.format(rates, every).replace("150kb", queue))])
plant("capacity-varies", "tcp -t 5 --explain", r"capacity (of the path )?(varies|changes)", None, wrong="queue on the path is too short", **changes("100mbit 20mbit", 1))
plant("capacity-varies-short-queue", "tcp -t 5 --explain", r"capacity (of the path )?(varies|changes)", None, wrong="queue on the path is too short", **changes("200mbit 50mbit 120mbit", 0.7, "60kb"))
plant("half-duplex", "tcp --explain", r"both directions share|half.duplex", "shaper|slower link", wrong="queue on the path is too short", do=[("m", ONE_LINE.format("100mbit"))])
plant("half-duplex-slow", "tcp -R --explain", r"both directions share|half.duplex", "shaper|slower link", wrong="queue on the path is too short", do=[("m", ONE_LINE.format("20mbit"))])
plant("ecn-data-dropped", "tcp --explain", r"ECN", None, wrong="drops what comes faster", do=[("a", "sysctl -qw net.ipv4.tcp_ecn=1"), ("b", "sysctl -qw net.ipv4.tcp_ecn=1"), ("m", nft("ip ecn != not-ect drop"))])
plant("udp-cross-traffic", "tcp -t 1 --explain", r"other traffic", "shaper|slower link", wrong="own namespace", do=[("m", tbf("m1", "100mbit", "32kb", "40ms")), ("m", "ip addr add 10.77.2.9/24 dev m1")],
      kids=[("m", "python3 -c 'import socket,time\ns=socket.socket(2,2)\nt=time.monotonic()\nwhile 1:\n  s.sendto(bytes(1372),(\"10.77.2.2\",9))\n  t+=0.000187\n  d=t-time.monotonic()\n  d>0 and time.sleep(d)'")])
plant("held-slots", "tcp -t 2 --explain", r"hold|together", None, middle=("rate=300,queue=4000,delay=1000,slot=20000", "delay=1000"))
plant("held-stalls", "tcp -t 2 -R --explain", r"hold|together", None, middle=("rate=300,queue=4000", "rate=300,queue=8000,delay=500,slot=75000"))
DSCP = ("tc qdisc add dev m1 root handle 1: htb default 1; tc class add dev m1 parent 1: classid 1:1 htb rate 1gbit; tc class add dev m1 parent 1: classid 1:2 htb rate 20mbit ceil 20mbit;"
        "tc filter add dev m1 parent 1: protocol ip u32 match ip dsfield {} 0xfc flowid 1:2")
plant("dscp-shaped", "tcp --dscp 8 --explain", r"DSCP|class", "shaper|slower link", do=[("m", DSCP.format("0x20"))])
plant("dscp-best-effort-shaped", "tcp --explain", r"DSCP|class", "shaper|slower link", do=[("m", DSCP.format("0x00"))])
plant("acks-lost-long", "tcp -t 2 --explain", r"acknowledgements.*lost|return path", "loss|lost", middle=("rate=100,queue=1000,delay=10000", "loss=400000,delay=10000"))
plant("tbf-one-packet", "tcp --explain", SHAPE + "|slower link", "loss|lost", do=[("m", "tc qdisc add dev m1 root tbf rate 50mbit burst 1600 limit 60kb")])
plant("ifb-receiver", "tcp --explain", r"receiver.*(ingress|ifb)|(ingress|ifb).*receiver|at the peer", SHAPE, do=[("b", "ip link add ifb0 type ifb; ip link set ifb0 up; tc qdisc add dev ifb0 root tbf rate 80mbit burst 16kb limit 100kb; tc qdisc add dev b0 ingress; tc filter add dev b0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0")])
plant("policed-after-volume", "tcp -t 5 --explain", r"volume|after", "polic", do=[("m", nft("iifname m0 ct original bytes > 60000000 limit rate over 4 mbytes/second burst 64 kbytes drop"))])
plant("policer-each-flow", "tcp -P 4 --explain", r"each flow|per flow", "polic", do=[("m", "nft add table inet t; nft 'add chain inet t c { type filter hook forward priority 0; }'; nft 'add rule inet t c iifname m0 meter f { ip saddr . tcp sport limit rate over 4 mbytes/second burst 64 kbytes } drop'")])
plant("policer-each-flow-one", "tcp", r"each flow|per flow", "polic", do=[("m", "nft add table inet t; nft 'add chain inet t c { type filter hook forward priority 0; }'; nft 'add rule inet t c iifname m0 meter f { ip saddr . tcp sport limit rate over 4 mbytes/second burst 64 kbytes } drop'")])
plant("bucket-of-20-mb", "tcp -t 3", r"volume|bucket", SHAPE + "|slower link", limit=r"volume", do=[("m", tbf("m1", "60mbit", "20mb", "50ms"))])
plant("dscp-policed-one", "tcp --dscp 10", r"DSCP", "polic", do=[("m", nft("iifname m0 ip dscp af11 limit rate over 3 mbytes/second burst 64 kbytes drop"))])
plant("pps-udp-large", "udp -l 1400 -b 200M --explain", r"packets a second", "carries", do=[("m", nft("iifname m0 udp dport != 7471 limit rate over 6000/second burst 50 packets drop"))])
plant("bbr-few-losses", "tcp", r"retransmitted|lost", None, not_limit=r"loss of segments", cc="bbr", do=[("b", nft("iifname b0 meta length > 1000 numgen random mod 500 == 0 drop", "input"))])
plant("bursts-of-six-lost", "tcp -t 3 --explain", r"burst|row", "loss|lost", middle=("bad=1000,row=6,from=600,rate=300,queue=400,delay=2000", "delay=2000"))
plant("pps-udp", "udp -l 200 -b 60M --explain", r"packets a second", "carries", do=[("m", nft("iifname m0 udp dport != 7471 limit rate over 8000/second burst 50 packets drop"))])
plant("outages-250ms", "tcp -t 4 --explain", r"outage", "loss|lost", kids=[("m", "bash -c 'while :; do sleep 0.9; ip link set m1 down; sleep 0.25; ip link set m1 up; ip -4 route replace 10.77.2.0/24 dev m1; done'")])
plant("long-path-4mib", "tcp -t 4 -w 4M --explain", r"buffer|window", None, remedy="-w|--window", middle=("rate=900,queue=40000,delay=75000", "delay=75000"))
plant("quota-hidden", "tcp -t 2", r"quota", None, hide_b=1, quota_b=20000)
plant("quota-hidden-small", "tcp -t 2", r"quota", None, hide_b=1, quota_b=5000)
plant("ok-delay-explain", "tcp -b 100M --explain", None, middle=("rate=500,queue=4000,delay=5000", "delay=5000"))
plant("ok-100mbit", "tcp -b 80M --explain", None, do=[("m", "tc qdisc add dev m1 root tbf rate 100mbit burst 32kb limit 300kb")])
# Written as a list before what the rules say of them was looked at.
plant("new-every-40th-R", "tcp -R --explain", r"loss|lost|sent again|retransm", None, wrong="drops what comes faster", do=[("m", nft("iifname m1 meta length > 1400 numgen inc mod 40 == 0 drop"))])
plant("new-corrupt-v6", "tcp -6 --explain", r"corrupt", "loss|lost", middle=("corrupt=20000,rate=200,queue=400", ""))
plant("new-narrow-short", "tcp --explain", r"short|queue", "slower link|shaper", middle=("rate=20,queue=4", ""))
plant("new-acks-policed", "tcp --explain", r"acknowledg|return path", "loss|lost", do=[("m", nft("iifname m1 meta length < 120 limit rate over 300/second burst 20 packets drop"))])
plant("new-dark-150", "tcp -t 3 --explain", r"outage", "loss|lost", middle=("dark=150,rate=200,queue=400", ""))
plant("new-jitter-20", "tcp -t 2 --explain", r"jitter|vari|reorder|hold", "round trip|window", middle=("jitter=20000,rate=200,queue=2000", ""))
plant("new-far-mtu-700", "tcp -R --explain", r"mtu|segment", None, do=[("b", "ip link set b0 mtu 700")])
plant("new-own-tbf-udp", "udp -b 50M --explain", SHAPE, "drop", do=[("a", tbf("a0", "12mbit", "16kb", "20ms"))])
plant("new-quota-far-R", "tcp -R --explain", r"quota", None, quota_b=35000)
plant("new-dscp-policed", "tcp --dscp 10 --explain", r"DSCP", "polic", do=[("m", nft("iifname m0 ip dscp af11 limit rate over 3 mbytes/second burst 64 kbytes drop"))])
plant("new-half-duplex-40", "tcp --explain", r"both directions|half.duplex", "shaper|slower link", do=[("m", ONE_LINE.format("40mbit"))])
plant("new-slot-40", "tcp -t 2 --explain", r"hold|together", "round trip", middle=("rate=200,queue=4000,slot=40000", "slot=10000"))
# What those who know only the docs planted, and was missed or half named.
ANSWERS = "tcp flags & (syn|ack) == syn|ack numgen random mod 3 == 0 drop"
plant("reno-few-losses", "tcp -t 5", r"retransmitted", "reorder", limit=r"loss of segments", cc="reno", middle=("delay=20000,loss=200,rate=300,queue=3000", "delay=20000"))
plant("bbr-queue-of-three", "tcp --explain", r"queue|short|retransmitted", None, not_limit=r"congestion control", cc="bbr", do=[("m", "tc qdisc add dev m1 root tbf rate 600mbit burst 64kb limit 5000")])
plant("bbr-receiver-stops", "tcp -t 2 --explain", r"stood still", None, not_limit=r"congestion control", cc="bbr", kids=[("b", STOPS)])
plant("bbr-hog", "tcp --explain", r"other processes|waited for a CPU", None, machine=1, not_limit=r"congestion control", cc="bbr", serve_with="taskset -c 1", kids=[("b", "taskset -c 1 bash -c 'while :; do :; done'")])
plant("bbr-loss-v6", "tcp -6 --explain", r"retransmitted|lost", None, not_limit=r"congestion control", cc="bbr", do=[("m", nft("meta nfproto ipv6 tcp dport != 7471 numgen random mod 50 == 0 drop"))])
plant("udp-filtered", "udp -b 50M", r"drops UDP on the way there", do=[("b", nft("meta l4proto udp drop", "input"))])
plant("udp-answers-filtered", "udp -b 50M", r"drops UDP on the way back", do=[("m", nft("iifname m1 meta l4proto udp drop"))])
plant("udp-filtered-by-length", "udp -b 50M -l 1400 --explain", r"filter by size", "lost", remedy=r"meta length", wrong="black hole", do=[("b", nft("meta l4proto udp meta length > 1000 drop", "input"))])
plant("connections-limited", "tcp -P 8", r"limit on the number of connections", do=[("b", nft("tcp dport != 7471 ct state new ct count over 4 drop", "input"))])
plant("connections-refused", "tcp -P 8", r"limit on the number of connections", do=[("b", nft("tcp dport != 7471 ct state new ct count over 4 reject with tcp reset", "input"))])
plant("member-dead-at-connect", "tcp -P 8", r"before and after them connected", do=[("m", nft("iifname m0 tcp dport != 7471 tcp sport and 3 == 0 drop"))])
plant("syn-ack-loss", "tcp --connect", r"SYN-ACK", "handshake|SYN", do=[("b", nft(ANSWERS, "output"))])
plant("route-mtu-lock", "tcp", r"route of the sender", "mtu|segment", remedy=r"lock", do=[("a", "ip route replace default via 10.77.1.1 mtu lock 900")])
# Healthy.
plant("ok-tcp", "tcp", None)
plant("ok-tcp-R", "tcp -R", None)
plant("ok-P4", "tcp -P 4", None)
plant("ok-rr", "tcp --rr", None)
plant("ok-udp", "udp -b 100M", None)
plant("ok-udp-R", "udp -R -b 100M", None)
plant("ok-v6", "tcp -6", None)
plant("ok-jumbo", "tcp", None, do=[("a", "ip link set a0 mtu 9000"), ("b", "ip link set b0 mtu 9000"), ("m", "ip link set m0 mtu 9000; ip link set m1 mtu 9000")])
plant("ok-paced", "tcp -b 200M", None)
plant("ok-middle", "tcp -b 50M", None, middle=("rate=300,queue=400", ""))
plant("ok-delay-paced", "tcp -b 50M", None, middle=("delay=2000,rate=300,queue=400", "delay=2000"))
plant("ok-connect", "tcp --connect", None)
plant("ok-bidir", "tcp --bidirectional", None)
plant("ok-frag-udp", "udp -l 4000 -b 50M", None)
plant("ok-explain", "tcp --explain", None)
plant("ok-explain-R", "tcp -R --explain", None)
plant("ok-loopback-busy", "tcp --explain", None, kids=[("m", "nice -n 10 bash -c 'while :; do :; done'")])
