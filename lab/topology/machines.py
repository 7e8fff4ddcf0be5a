"""Makes the machines of lab/topology: for each a folder with QEMU's arguments (`args`, one a line),
SMBIOS structures and what `narrows host` must say of it (`expect.json`).

The populations are those of Lenovo Press LP1241: one processor with 1 to 6 modules, two with 1 to
12, filled in the order that the paper gives. Its label says whether the two memory controllers of a
processor hold the same: with its order, whether the number of modules is even."""

import json
import pathlib
import struct
import sys

SLOTS = range(1, 17)  # of an SD530: 1 to 8 on the first processor, 9 to 16 on the second
ONE = [6, 3, 7, 2, 8, 1]
TWO = [6, 14, 3, 11, 7, 15, 2, 10, 8, 16, 1, 9]
CPU = "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.60GHz"


def strings(words):
    return b"".join(word.encode() + b"\0" for word in words) + b"\0"


def module(handle, locator, bank, size_mb=0, speed=0, configured=None):
    """A structure of type 17 as SMBIOS 2.8 has it."""
    words = [locator, bank]
    maker = part = 0
    if size_mb:
        words += ["Samsung", "M393A4K40CB2-CVF"]
        maker, part = 3, 4
    large = size_mb >= 0x7FFF
    body = struct.pack(
        "<BBHHHHHHBBBBBHHBBBBBIHHHH",
        17, 0x28, handle, 0x1000, 0xFFFE,
        72 if size_mb else 0xFFFF, 64 if size_mb else 0xFFFF,
        0x7FFF if large else size_mb,
        9, 0, 1, 2,
        26 if size_mb else 2,  # DDR4
        0x2080 if size_mb else 0,  # synchronous, registered
        speed, maker, 0, 0, part,
        2 if size_mb else 0,
        size_mb if large else 0,
        configured if configured is not None else speed,
        1200 if size_mb else 0, 1200 if size_mb else 0, 1200 if size_mb else 0,
    )
    return body + strings(words)


def write(top, name, args, structures, expect):
    folder = top / name
    folder.mkdir(parents=True)
    for number, structure in enumerate(structures):
        file = folder / f"type17-{number:02}.bin"
        file.write_bytes(structure)
        args = args + ["-smbios", f"file={file}"]
    (folder / "args").write_text("\n".join(args) + "\n")
    (folder / "expect.json").write_text(json.dumps(expect, indent=1))


def host(sockets, product="ThinkSystem SD530 -[7X21CTO1WW]-"):
    args = ["-M", "q35", "-m", "512M", "-cpu", f"Cascadelake-Server,model-id={CPU}",
            "-smp", f"{sockets},sockets={sockets},cores=1,threads=1",
            "-smbios", f"type=1,manufacturer=Lenovo,product={product}",
            "-smbios", f"type=4,version={CPU}"]
    for node in range(sockets):
        size = 512 // sockets
        args += ["-object", f"memory-backend-ram,id=m{node},size={size}M",
                 "-numa", f"node,nodeid={node},memdev=m{node},cpus={node}"]
    return args


def board(populated, size_mb=32768, speed=2933, odd=()):
    """The structures of all sixteen slots; `odd` are (slot, size, configured speed) of others."""
    odd = {slot: rest for slot, *rest in odd}
    made = []
    for slot in SLOTS:
        bank = f"CPU {1 if slot < 9 else 2}"
        size, configured = odd.get(slot, (size_mb, speed))
        if slot in populated:
            made.append(module(0x1100 + slot, f"DIMM {slot}", bank, size, speed, configured))
        else:
            made.append(module(0x1100 + slot, f"DIMM {slot}", bank))
    return made


def expected(populated, sockets):
    counts = [sum(1 for slot in populated if (slot > 8) == cpu) for cpu in (False, True)][:sockets]
    labels = [count % 2 == 0 for count in counts if count]
    return {
        "populated": sorted(f"DIMM {slot}" for slot in populated),
        "modules_by_socket": counts,
        "lenovo_2019_balanced": all(labels),
        "sockets_differ": len(set(counts)) > 1,
        "nodes": sockets,
    }


def topology(top):
    """Two processors, four nodes of which two have memory only, distances, HMAT, two PCIe expanders
    with a NIC each, and ports that are trained below what they can."""
    args = ["-M", "q35,hmat=on", "-m", "1G", "-smp", "4,sockets=2,cores=2,threads=1"]
    for node, size in enumerate([384, 384, 128, 128]):
        args += ["-object", f"memory-backend-ram,id=m{node},size={size}M"]
    args += ["-numa", "node,nodeid=0,memdev=m0,initiator=0,cpus=0-1",
             "-numa", "node,nodeid=1,memdev=m1,initiator=1,cpus=2-3",
             "-numa", "node,nodeid=2,memdev=m2,initiator=0",
             "-numa", "node,nodeid=3,memdev=m3,initiator=1"]
    distances = {(0, 1): 21, (0, 2): 17, (0, 3): 28, (1, 2): 28, (1, 3): 17, (2, 3): 28}
    for (a, b), value in distances.items():
        args += ["-numa", f"dist,src={a},dst={b},val={value}", "-numa", f"dist,src={b},dst={a},val={value}"]
    for initiator in (0, 1):
        for target in range(4):
            near = target % 2 == initiator
            latency = (90 if near else 150) + (160 if target > 1 else 0)
            rate = (120 if near else 60) // (4 if target > 1 else 1)
            args += ["-numa", f"hmat-lb,initiator={initiator},target={target},hierarchy=memory,"
                     f"data-type=access-latency,latency={latency}",
                     "-numa", f"hmat-lb,initiator={initiator},target={target},hierarchy=memory,"
                     f"data-type=access-bandwidth,bandwidth={rate}G"]
    args += ["-device", "pxb-pcie,id=pxb0,bus_nr=0x20,bus=pcie.0,numa_node=0",
             "-device", "pxb-pcie,id=pxb1,bus_nr=0x80,bus=pcie.0,numa_node=1",
             "-device", "pcie-root-port,id=rp0,bus=pxb0,chassis=1,slot=1,x-speed=16,x-width=16",
             "-netdev", "user,id=n0,restrict=on", "-device", "e1000e,bus=rp0,netdev=n0,romfile=",
             "-device", "pcie-root-port,id=rp1,bus=pxb1,chassis=2,slot=2,x-speed=8,x-width=8",
             "-netdev", "user,id=n1,restrict=on", "-device", "virtio-net-pci,bus=rp1,netdev=n1,romfile=",
             "-device", "pcie-root-port,id=rp2,bus=pxb1,chassis=3,slot=3,x-speed=2_5,x-width=4",
             "-netdev", "user,id=n2,restrict=on", "-device", "vmxnet3,bus=rp2,netdev=n2,romfile="]
    rows = [[10 if a == b else distances[min(a, b), max(a, b)] for b in range(4)] for a in range(4)]
    write(top, "topology", args, [], {
        "nodes": 4, "sockets": 2, "distances": rows, "without_cpus": [2, 3],
        "nics": {"e1000e": 0, "virtio_net": 1, "vmxnet3": 1},
        # Every device here is one lane of the first generation, which holds its port to that.
        "ports": [[2.5, 1, 2.5, 4], [2.5, 1, 8.0, 8], [2.5, 1, 16.0, 16]],
        # node 0: 120 GiB/s and 90 ns for its own CPUs; node 2: a quarter of it and 250 ns
        "hmat": {"0": [122880, 90], "2": [30720, 250]},
    })


def main():
    top = pathlib.Path(sys.argv[1])
    for count in range(1, 7):
        slots = ONE[:count]
        write(top, f"one-{count:02}", host(1), board(slots), expected(slots, 1))
    for count in range(1, 13):
        slots = TWO[:count]
        write(top, f"two-{count:02}", host(2), board(slots), expected(slots, 2))
    missing = [slot for slot in TWO if slot != 16]
    write(top, "missing", host(2), board(missing), expected(missing, 2) | {"names": "16"})
    # The second module of two went into the wrong slot: both are on one memory controller.
    write(top, "wrong", host(2), board([6, 7]), expected([6, 7], 2) | {"lenovo_2019_balanced": False})
    mixed = board(TWO, odd=[(8, 16384, 2666), (16, 16384, 2666)])
    write(top, "mixed", host(2), mixed, expected(TWO, 2) | {"finds": "memory-mixed", "lenovo_2019_balanced": False})
    slow = board(TWO, odd=[(slot, 32768, 2666) for slot in TWO])
    write(top, "slow", host(2), slow, expected(TWO, 2) | {"finds": "memory-speed"})
    topology(top)


main()
