"""A stretch of network that can fail: passes bytes between anyone who connects and a port, until it is told not to."""
import socket
import threading
import time


class Proxy:
    """Listens at `port` of this machine. `target()`: the port to connect to, 0 when there is none."""

    def __init__(self, target, rate: float = 0, record: bool = False):
        """`rate`: bytes per second towards the port, and little in between; 0: as fast as they come. `record`: keeps
        the bytes towards the port."""
        self.target, self.rate, self.record = target, rate, record
        self.heard: list[bytearray] = []  # with `record`: by connection
        self.open = threading.Event()  # clear: bytes stay where they are, as if the cable were cut
        self.open.set()
        self.listener = socket.socket()
        if rate:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        self.pairs: set[tuple[socket.socket, socket.socket]] = set()
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing passes, and nobody is told."""
        self.open.clear()

    def heal(self) -> None:
        self.open.set()

    def close(self) -> None:
        self.listener.close()
        self.heal()
        with self.lock:
            for pair in self.pairs:
                _hang_up(*pair)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self.open.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target()), 5)
            far.settimeout(None)
        except OSError:
            near.close()
            return
        with self.lock:
            self.pairs.add((near, far))
        back = threading.Thread(target=self._pass, args=(far, near), daemon=True)
        back.start()
        heard = bytearray() if self.record else None
        if self.record:
            self.heard.append(heard)
        self._pass(near, far, self.rate, heard)
        back.join()
        with self.lock:
            self.pairs.discard((near, far))
        near.close()
        far.close()

    def _pass(self, one: socket.socket, other: socket.socket, rate: float = 0, heard: bytearray | None = None) -> None:
        try:
            while got := one.recv(1 << 16):
                self.open.wait()
                if rate:
                    time.sleep(len(got) / rate)
                if heard is not None:
                    heard += got
                other.sendall(got)
        except OSError:
            pass
        self.open.wait()  # the end of a connection does not pass either
        _hang_up(one, other)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
