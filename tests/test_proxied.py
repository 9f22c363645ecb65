"""Two processes behind the configuration of docs/serving.md: one ends, its visitors return."""

import asyncio
from contextlib import ExitStack

import pytest
from websockets.exceptions import ConnectionClosed

from tests.browser.serving import HOST, free_port
from tests.proxied import asked, find_nginx, proxied
from tests.served import ask, set_cookies, started
from tests.tab import Tab, in_a_thread, nothing_wrong

COOKIE = "gating_process"
PATH = "/gating"  # that the app is served under
CALM_SECONDS = 4.0  # while a process is gone, and after that
RETURN_SECONDS = 240.0
CONTROLS = (("", "task", ("xor", "moons")), ("Efficient_attention", "top_k", (4, 16)))


class Visit:
    """Somebody who moves a control again and again, and comes back to a process that was gone."""

    def __init__(self, url, process, page, key, values):
        self.url, self.process, self.page, self.key, self.values = url, process, page, key, values
        self.steps = self.returns = 0

    async def go_on(self, over):
        async with Tab(self.url, self.page, cookies={COOKIE: self.process}) as tab:
            await tab.open()
            while not over.is_set():
                value = self.values[self.steps % 2]
                try:
                    await tab.change(**{self.key: value})
                except (ConnectionError, ConnectionClosed):
                    assert self.process == "b"
                    await tab.reconnect()
                    self.returns += 1
                assert nothing_wrong(tab) == ""
                assert tab.link[self.key] == [f"{value}"]
                assert tab.cookies[COOKIE] == self.process
                self.steps += 1
                await asyncio.sleep(0.5)


async def newcomer(url):
    """Look at a page; return the process that answered."""
    async with Tab(url, cookies=(cookies := {})) as tab:
        await tab.open()
    return cookies[COOKIE]


@pytest.mark.soak  # a minute
def test_one_of_two_processes_ends_and_its_visitors_come_back(tmp_path):
    """They have their link and controls; newcomers and everybody else have the other one."""
    if (nginx := find_nginx()) is None:
        pytest.skip("no `nginx` on the PATH (Debian's package has it)")
    ports = {"a": free_port(), "b": free_port()}

    def serve(name):
        return started(port=ports[name], environment={"GATING_PROCESS": name}, path=PATH)

    async def everything(url, b, again):
        visits, over = [Visit(url, name, *x) for name in ports for x in CONTROLS], asyncio.Event()
        of_a, of_b = visits[:2], visits[2:]
        async with asyncio.TaskGroup() as crowd:
            for visit in visits:
                crowd.create_task(visit.go_on(over))
            while not all(visit.steps for visit in visits):
                await asyncio.sleep(0.1)
            b.kill()  # as the unit of docs/serving.md does
            assert ask(url, "GET", "/_stcore/health", headers={"Cookie": f"{COOKIE}=b"})[0] == 503
            assert await asyncio.gather(*map(newcomer, [url] * 4)) == ["a"] * 4
            before = [visit.steps for visit in of_a]
            await asyncio.sleep(CALM_SECONDS)
            assert all(x.steps > steps for x, steps in zip(of_a, before, strict=True))
            await asyncio.to_thread(again.enter_context, serve("b"))
            async with asyncio.timeout(RETURN_SECONDS):
                while not all(visit.returns for visit in of_b):
                    await asyncio.sleep(0.1)
            await asyncio.sleep(CALM_SECONDS)
            over.set()
        assert not any(visit.returns for visit in of_a)

    with (
        proxied(nginx, tmp_path, ports) as host,
        serve("a") as a,
        serve("b") as b,
        ExitStack() as again,
    ):
        addresses_name_processes(host + PATH)
        in_a_thread(everything(host + PATH, b, again))
        assert "Traceback" not in a.output()
    of = {address: process for address, process in asked(tmp_path) if "/c/" in address}
    assert of == {f"{PATH}/c/{name}23456/state": f"{HOST}:{port}" for name, port in ports.items()}


def addresses_name_processes(url):
    """The address of a class names its process, whatever the cookie says."""
    for name, other in ("ab", "ba"):
        headers = {"Accept": "text/html", "Cookie": f"{COOKIE}={other}"}
        for path, process in ((f"/Learn?class={name}23456", name), ("/Learn", other)):
            _, _, answered = ask(url, "GET", path, headers=headers)
            assert set_cookies(answered)[COOKIE] == process
        _, _, answered = ask(url, "GET", f"/c/{name}23456/state", headers=headers)
        assert COOKIE not in set_cookies(answered)
