"""Several processes behind the configuration of docs/serving.md."""

import asyncio
import re
import traceback
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from websockets.exceptions import ConnectionClosed

from tests.browser.serving import HOST, free_port
from tests.load import ARRIVAL_SECONDS, BOUNDARY, Record, Visitor
from tests.proxied import PRINTED, asked, configuration, find_nginx, printed, proxied
from tests.served import ask, set_cookies, started
from tests.tab import Tab, in_a_thread

COOKIE = "gating_process"
PATH = "/gating"  # that the app is served under
VISITORS, NEWCOMERS = 30, 8
PAUSE_SECONDS = (0.5, 1.5)
CALM_SECONDS = 6.0  # before the process ends, while it is gone, and after that
RETURN_SECONDS = 240.0
MOVED = {  # a control of each page
    "": "task",
    "Manifold": "model",
    "Claims": "rows",
    "Mixture_of_experts": "gate_at",
    "Efficient_attention": "top_k",
}


def test_the_block_names_the_same_processes_everywhere(tmp_path):
    block, names = printed(), set(PRINTED)
    assert set(re.findall(r"^upstream (\w) ", block, re.M)) == names
    assert set(re.findall(r"[%*] (\w);", block)) == names  # shares of newcomers
    assert {frozenset(letters) for letters in re.findall(r"letter>\[(\w+)\]", block)} == {
        frozenset(names)
    }
    for name, port in PRINTED.items():
        assert re.search(rf"^upstream {name} +{{ server {HOST}:{port}; }}", block, re.M)
        assert f"~:{port}$ {name};" in block
    text = configuration(tmp_path, 1234, {"a": 1235, "b": 1236})
    assert text.count("{") == text.count("}")
    assert not re.search(r"850\d|443", text)


# --- With nginx -----------------------------------------------------------------------------------


@dataclass
class Met:
    """The record of thirty visitors: their processes, steps in the outage, returns, and errors."""

    process: dict[int, str] = field(default_factory=dict)
    outage_steps: Counter = field(default_factory=Counter)
    returned: Counter = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    record: Record = field(default_factory=Record)
    is_out: bool = False
    is_over: bool = False


async def visit(url, number, met):
    """Move one control again and again; if the connection is lost, come back as a browser does."""
    page, cookies = [*MOVED][number % len(MOVED)], {}
    visitor = Visitor(url, number, VISITORS, float("inf"), met.record, PAUSE_SECONDS)
    async with Tab(url, page, cookies=cookies) as tab:
        await visitor.step(tab, tab.open())
        met.process[number] = cookies[COOKIE]
        while not met.is_over:
            began_out, key = met.is_out, MOVED[page]
            value = visitor.value(tab.page.widget(key), None)
            try:
                await visitor.step(tab, tab.change(**{key: value}))
            except (ConnectionError, ConnectionClosed):
                if cookies[COOKIE] != "b" or not met.is_out:
                    raise
                await tab.reconnect()
                await visitor.look(tab)
                met.returned[number] += 1
            met.outage_steps[number] += began_out and met.is_out
        assert cookies[COOKIE] == met.process[number]


async def noted(url, number, met):
    await asyncio.sleep(ARRIVAL_SECONDS * number / VISITORS)
    try:
        await visit(url, number, met)
    except Exception:
        where = f"visitor {number} of {met.process.get(number)}"
        met.errors.append(f"{where}: {traceback.format_exc(limit=-4)}"[:2000])


async def newcomer(url):
    """Look at a page; return the process that answered."""
    async with Tab(url, cookies=(cookies := {})) as tab:
        await tab.open()
    return cookies[COOKIE]


async def upload(url, process):
    """Upload a table at this process, which alone knows of it."""
    visitor = Visitor(url, "ab".index(process), 2, float("inf"), Record())
    async with Tab(url, BOUNDARY, "seeds=2", cookies={COOKIE: process}) as tab:
        await tab.open()
        await visitor.own_table(tab)


@pytest.mark.soak  # a minute
def test_one_of_two_processes_ends_and_its_visitors_come_back(tmp_path):
    """Nobody else notices; its own visitors have their link and controls, and the right numbers."""
    if (nginx := find_nginx()) is None:
        pytest.skip("no `nginx` on the PATH (Debian's package has it)")
    ports, met = {"a": free_port(), "b": free_port()}, Met()

    def serve(name):
        return started(port=ports[name], environment={"GATING_PROCESS": name}, path=PATH)

    async def restart(url, b, again):
        while len(met.process) < VISITORS and not met.errors:
            await asyncio.sleep(0.1)
        assert met.errors or set(met.process.values()) == {"a", "b"}
        await asyncio.sleep(CALM_SECONDS)
        met.is_out = True
        b.kill()  # as the unit of docs/serving.md does
        assert ask(url, "GET", "/_stcore/health", headers={"Cookie": f"{COOKIE}=b"})[0] == 503
        new = await asyncio.gather(*(newcomer(url) for _ in range(NEWCOMERS)))
        assert new == ["a"] * NEWCOMERS
        await asyncio.sleep(CALM_SECONDS)
        await asyncio.to_thread(again.enter_context, serve("b"))
        of_b = [number for number, name in met.process.items() if name == "b"]
        async with asyncio.timeout(RETURN_SECONDS):
            while set(met.returned) != set(of_b) and not met.errors:
                await asyncio.sleep(0.1)
        met.is_out = False
        await asyncio.sleep(CALM_SECONDS)
        met.is_over = True

    async def everything(url, b, again):
        await asyncio.gather(*(upload(url, name) for name in ports))  # imports what pages need
        crowd = [asyncio.create_task(noted(url, number, met)) for number in range(VISITORS)]
        try:
            await restart(url, b, again)
        finally:
            met.is_over = True
            await asyncio.gather(*crowd)

    with (
        proxied(nginx, tmp_path, ports) as host,
        serve("a") as a,
        serve("b") as b,
        ExitStack() as again,
    ):
        addresses_name_processes(host + PATH)
        in_a_thread(everything(host + PATH, b, again))
        before, raised, after = a.output().partition("Traceback")
        log = before[-500:] + raised + after[:3000] if raised else ""
        assert not met.errors, "\n".join([*met.errors, log])
        assert not log
    of_a = [number for number, name in met.process.items() if name == "a"]
    assert all(met.outage_steps[number] for number in of_a), met.outage_steps
    assert not set(met.returned) & set(of_a)
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
