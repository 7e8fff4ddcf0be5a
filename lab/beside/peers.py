"""The peers of `lab/bench`: which programs they are, and what each measures between two ends."""
import ctypes
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import tempfile
import threading
import time

from rows import Run

PACKAGES = {"iperf3": "iperf3", "iperf": "iperf", "nuttcp": "nuttcp", "qperf": "qperf",
            "sockperf": "sockperf", "likwid-bench": "likwid", "ethtool": "ethtool",
            "trafgen": "netsniff-ng"}
CLONE_NEWNET = 0x40000000
HALF_SECOND = 0.5


def sh(text):
    return subprocess.run(text, shell=True, check=True, capture_output=True, text=True).stdout


def install():
    missing = [package for tool, package in PACKAGES.items() if not shutil.which(tool)]
    if missing:
        sh("apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq"
           f" --no-install-recommends {' '.join(missing)}")


def built(folder):
    """Programs of the source trees `iperf` and `neper` in the folder $SOURCES, built in a copy;
    none where there are none. What cannot be built ends the call: a peer that is asked for counts."""
    sources, programs = os.environ.get("SOURCES"), {}
    for tree, make, found in (("iperf", "./configure -q --disable-shared && make -s -j", "src/iperf3"),
                              ("neper", "make -s", "tcp_stream")):
        if sources and os.path.isdir(os.path.join(sources, tree)):
            to = os.path.join(folder, tree)
            shutil.copytree(os.path.join(sources, tree), to)
            sh(f"cd {to} && ({make}) 2>&1")
            programs[os.path.basename(found)] = os.path.join(to, found)
    return programs


def says(programs):
    """The machine and the programs, in a few lines for the head of the table."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)|CPU part\s*: (.*)", file.read())
    with open("/proc/loadavg", encoding="ascii") as file:
        load = file.read().split()[0]
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "?")
    lines = [f"{time.strftime('%Y-%m-%d')}: {model.group(0).split(':')[1].strip() if model else '?'},"
             f" {os.cpu_count()} CPUs, {platform.system()} {platform.release()}, {system}, load {load}"]
    asked = {"iperf3": "iperf3 --version", "iperf": "iperf -v", "nuttcp": "nuttcp -V",
             "qperf": "qperf --version", "sockperf": "sockperf --version"}
    told = []
    for tool, command in asked.items():
        command = command.replace(tool, programs.get(tool, tool), 1)
        run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        version = re.search(r"\d+\.\d+[\w.+-]*", run.stdout + run.stderr)
        where = "built from source" if tool in programs else "Debian's"
        told.append(f"{tool} {version.group(0) if version else '?'} ({where})")
    told.append("neper (built from source)" if "tcp_stream" in programs else "no neper")
    return lines + ["Peers: " + ", ".join(told)]


class Wire:
    """Counts what comes to an interface of a named namespace; the rate of its busiest half second."""

    def __init__(self, namespace, device):
        self.looks, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.look, args=(namespace, device))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self, namespace, device):
        # Of this thread alone.
        with open(f"/run/netns/{namespace}", "rb") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
                return
        pattern = re.compile(rf"^\s*{device}:\s*(\d+)", re.MULTILINE)
        while not self.over.wait(0.02):
            with open("/proc/thread-self/net/dev", encoding="ascii") as file:
                found = pattern.search(file.read())
            if found:
                self.looks.append((time.monotonic(), int(found.group(1))))

    def rate(self):
        best, first = None, 0
        for at, (now, count) in enumerate(self.looks):
            while first + 1 < at and now - self.looks[first + 1][0] >= HALF_SECOND:
                first += 1
            span = now - self.looks[first][0]
            if span >= HALF_SECOND:
                best = max(best or 0, 8 * (count - self.looks[first][1]) / span)
        return best


class Peers:
    """Runs peers between the near end and that of a path, each on a CPU of its own."""

    def __init__(self, programs, cpus, ends):
        self.programs, (self.first, self.second), self.ends = programs, cpus, ends

    def program(self, name):
        return self.programs.get(name, name)

    def both(self, path, server, client):
        """Runs server and client; the texts of both, CPU seconds of both together and the rate at
        the far interface."""
        near, far, device, _ = self.ends(path)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with Wire(far, device) as wire:
            serves = subprocess.Popen(inside(far, self.second, server), stdout=subprocess.PIPE,
                                      text=True, stderr=subprocess.DEVNULL)
            time.sleep(0.25)
            done = subprocess.run(inside(near, self.first, client), capture_output=True, text=True,
                                  check=False)
            try:
                told = serves.communicate(timeout=2)[0]
            except subprocess.TimeoutExpired:
                serves.terminate()
                told = serves.communicate()[0]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode:
            raise RuntimeError(f"{client}: {done.stderr} {done.stdout}")
        return done.stdout, told, cpu, wire.rate()

    def iperf3(self, path, more, udp=False):
        program, address = self.program("iperf3"), self.ends(path)[3]
        client = f"{program} -c {address} -t 1 -J {more}"
        out, _, cpu, wire = self.both(path, f"{program} -s -1", client)
        end = json.loads(out)["end"]
        if udp:
            share = end["sum"]["lost_percent"] / 100
            return Run(end["sum"]["bits_per_second"] * (1 - share), None, share, wire)
        received = end["sum_received"]
        cost = cpu / (received["bytes"] / 1e9)
        return Run(received["bits_per_second"], cost, 0, wire)

    def iperf(self, path, more, udp=False, window=""):
        server = f"iperf -s -u -y C -t 2 {window}" if udp else "iperf -s -y C -t 2"
        client = f"iperf -c {self.ends(path)[3]} -t 1 {more}"
        _, told, cpu, wire = self.both(path, server, client)
        words = told.strip().splitlines()[-1].split(",")
        size, rate = float(words[7]), float(words[8])
        lost = float(words[10]) / max(float(words[11]), 1) if udp else 0
        return Run(rate, cpu / (size / 1e9), lost, wire)

    def nuttcp(self, path, more):
        client = f"nuttcp -T1 {more} -fparse {self.ends(path)[3]}"
        out, _, _, wire = self.both(path, "nuttcp -1", client)
        told = dict(re.findall(r"(\w+)=([\d.]+)", out))
        # Its server becomes a process of nobody's; it tells the CPU of both ends itself.
        cpu = (float(told["tx_cpu"]) + float(told["rx_cpu"])) / 100 * float(told["real_seconds"])
        size = float(told["megabytes"]) * (1 << 20)
        lost = float(told.get("data_loss", 0)) / 100
        return Run(float(told["rate_Mbps"]) * 1e6, cpu / (size / 1e9), lost, wire)

    def qperf(self, path, more):
        client = f"qperf {self.ends(path)[3]} -t 1 {more} -uu tcp_bw"
        out, _, _, wire = self.both(path, "qperf", client)
        return Run(8 * float(re.search(r"bw += +([\d.e+]+)", out).group(1)), None, 0, wire)

    def neper(self, path, more):
        program = self.program("tcp_stream")
        client = f"{program} --nolog -c -H {self.ends(path)[3]} -l 1 {more}"
        out, told, cpu, wire = self.both(path, f"{program} --nolog -l 1 {more}", client)
        # The rate that its receiver saw; it sends for a second.
        rate = 1e6 * float(re.search(r"^throughput=([\d.]+)", told, re.MULTILINE).group(1))
        return Run(rate, cpu / (rate / 8 / 1e9), 0, wire)

    def sockperf(self, path, more):
        _, far, _, address = self.ends(path)
        tcp = "--tcp" if "--tcp" in more else ""
        server = f"sockperf sr {tcp} --nonblocked -i {address}"
        serves = subprocess.Popen(inside(far, self.second, server), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(0.4)
        client = f"sockperf pp -m 64 -t 1 {more} -i {address}"
        out = subprocess.run(inside(self.ends(path)[0], self.first, client), capture_output=True,
                             text=True, check=False).stdout
        serves.terminate()
        serves.wait()
        # It states half a round trip.
        return Run(2000 * float(re.search(r"percentile 50.000 = +([\d.]+)", out).group(1)))

    def trafgen(self, path):
        """Packets a second that arrive at the far interface, from a ring that trafgen sends over
        and over with no socket of UDP."""
        near, far, device, address = self.ends(path)
        mac = sh(f"ip netns exec {far} cat /sys/class/net/{device}/address").strip()
        packet = (f"{{ eth(da={mac}), ipv4(sa=198.51.100.5, da={address}), udp(sp=9, dp=9),"
                  f" fill('B', 64) }}")
        arrived = f"ip netns exec {far} cat /sys/class/net/{device}/statistics/rx_packets"
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
            config.write(packet)
            config.flush()
            # Two interfaces of one kernel: the sender's CPU also takes the packets in.
            command = inside(near, self.first, f"trafgen -P 1 -o v0 -c {config.name} -q")
            sender = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            time.sleep(0.7)
            before, began = int(sh(arrived)), time.monotonic()
            time.sleep(1)
            after, ended = int(sh(arrived)), time.monotonic()
            # It forks the process that sends, and ends at its leisure when asked.
            os.killpg(sender.pid, 9)
            sender.wait()
        return Run((after - before) / (ended - began))


def inside(name, cpu, command):
    return f"ip netns exec {name} taskset -c {cpu} {command}".split()


def likwid(name, threads):
    # likwid reads CPU numbers from the affinity of the caller.
    out = subprocess.run(f"likwid-bench -t {name} -w N:1GB:{threads} -s 1", shell=True,
                         capture_output=True, text=True, check=False).stdout
    return Run(float(re.search(r"MByte/s:\s+([\d.]+)", out).group(1)) * 1e6)
