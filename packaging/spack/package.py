# Copyright the narrows developers. MIT OR Apache-2.0
"""Builds narrows from the archive of its sources, which lies in the folder that spack is called in."""

import os

from spack.package import *


class Narrows(CargoPackage):
    """Does a server's memory, NUMA layout, PCIe path or CPU hold its network back?

    RDMA and MPI libraries are loaded when they are asked for, and not linked: none is a dependency.
    """

    manual_download = True
    url = "file://{0}/narrows-@VERSION@-source.tar.gz".format(os.getcwd())

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SUM@")

    depends_on("c", type="build")
    depends_on("rust@1.90:", type="build")

    build_directory = "crates/narrows"

    @property
    def build_args(self):
        return ["--locked", "--features", "full"]
