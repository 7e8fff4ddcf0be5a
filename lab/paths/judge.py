"""Says whether `narrows paths` named the late device of the guests of lab/paths/test, and no other."""

import re
import sys
from pathlib import Path

failed = []


def expect(name, is_so, told):
    print(f"{'ok  ' if is_so else 'FAIL'} {name}")
    if not is_so:
        failed.append(name)
        print("     ", str(told)[-2500:])


def paths(case):
    """What the outlook and the study say, and the study's exit code."""
    text = (Path(sys.argv[1]) / f"said-{case}").read_text(errors="replace")
    outlook, _, rest = text.partition(f"@{case}\n")
    said, _, end = rest.partition(f"\n@{case}-rc ")
    code = re.match(r"\d+", end)
    return outlook, " ".join(said.split()), code and int(code.group())


def well():
    outlook, told, code = paths("even")
    for path in ["siw0, node 0", "siw1, node 0", "siw0 > siw1", "siw1 > siw0"]:
        expect(f"{path} is a path of the host", path in outlook, outlook)
    expect("equal paths are not accused", "no path is shown to be slower than its like" in told, told)
    expect("nor are they a bad verdict", code == 0, told)
    expect("devices in software are said to be", "devices in software" in told, told)
    expect("loop-back is said to be no network result", "not a network result" in told, told)


def late(case, slow, like):
    _, told, code = paths(case)
    named = re.search(rf"{slow}, node 0 is slower than its like {like}, node 0: ([^;]*)", told)
    print(f"      {case}: {named and named.group()}")
    expect(f"{slow} is named beside {like}, for its writes", named and "RDMA write -" in named.group(1), told)
    expect("and not for its reads", named and "RDMA read" not in named.group(1), told)
    expect(f"{like} is not named", f"{like}, node 0 is slower" not in told, told)
    expect("no run failed", "failed" not in told, told)
    expect("the exit code is that of a verdict", code == 1, code)


for case in sys.argv[2:]:
    if case == "even":
        well()
    else:
        late(case, *(("siw1", "siw0") if case == "late" else ("siw0", "siw1")))
sys.exit(1 if failed else 0)
