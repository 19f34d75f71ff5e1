"""Sites of a network of their own: a namespace for each, all on one bridge. Needs root and the ip command."""
import os
import shutil
import subprocess
from itertools import count

_networks = count()


def permitted() -> str:
    """Why there can be no namespaces here; empty when there can."""
    if shutil.which("ip") is None:
        return "there is no ip command"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    name = f"furlong-{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return made.stderr.strip()
    linked = subprocess.run(["ip", "-n", name, "link", "add", "try", "type", "bridge"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], check=False)
    return linked.stderr.strip() if linked.returncode != 0 else ""


class Network:
    """Use with `with`: its namespaces are gone afterwards, and with them what was sent in them."""

    def __init__(self, sites: list[str]):
        self.mark = f"furlong-{os.getpid()}-{next(_networks)}"
        self.number = {site: i for i, site in enumerate(sites)}
        self.made: list[str] = []

    def __enter__(self):
        try:
            self._make(self._hub())
            self._ip("-n", self._hub(), "link", "add", "bridge", "type", "bridge")
            self._ip("-n", self._hub(), "link", "set", "bridge", "up")
            for site in self.number:
                self._add(site)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def prefix(self, site: str) -> list[str]:
        """What stands before a command that runs there; it becomes that command, with its process id."""
        return ["ip", "netns", "exec", self._name(site)]

    def address(self, site: str) -> str:
        return f"10.77.0.{self.number[site] + 1}"

    def cut(self, site: str) -> None:
        """What is sent to it, and by it, is lost; nobody is told."""
        self._ip("-n", self._hub(), "link", "set", self._port(site), "nomaster")

    def heal(self, site: str) -> None:
        self._ip("-n", self._hub(), "link", "set", self._port(site), "master", "bridge")

    def worsen(self, site: str) -> str:
        """Delays and loses some of what it sends, or where the kernel has no netem, lets a short queue overflow. Says
        which."""
        if self._shape(site, "netem", "delay", "5ms", "2ms", "loss", "1%"):
            return "delay 5 ms, loss 1 %"
        if self._shape(site, "tbf", "rate", "20mbit", "burst", "10kb", "limit", "20kb"):
            return "20 Mbit/s, queue of 20 kB"
        return "nothing"

    def _shape(self, site: str, *discipline: str) -> bool:
        words = ["tc", "-n", self._name(site), "qdisc", "replace", "dev", "eth0", "root", *discipline]
        return shutil.which("tc") is not None and subprocess.run(words, capture_output=True).returncode == 0

    def _hub(self) -> str:
        return f"{self.mark}-hub"

    def _name(self, site: str) -> str:
        return f"{self.mark}-{self.number[site]}"

    def _port(self, site: str) -> str:
        return f"port{self.number[site]}"

    def _make(self, name: str) -> None:
        self._ip("netns", "add", name)
        self.made.append(name)
        self._ip("-n", name, "link", "set", "lo", "up")

    def _add(self, site: str) -> None:
        name, port = self._name(site), self._port(site)
        self._make(name)
        self._ip("-n", self._hub(), "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        self._ip("-n", self._hub(), "link", "set", port, "master", "bridge", "up")
        self._ip("-n", name, "address", "add", f"{self.address(site)}/24", "dev", "eth0")
        self._ip("-n", name, "link", "set", "eth0", "up")

    @staticmethod
    def _ip(*words: str) -> None:
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"ip {' '.join(words)}: {done.stderr.strip()}")
