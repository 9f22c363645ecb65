"""Does a hostile link or table do anything in a real browser, or is it only read?"""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from .serving import Served
from .visiting import Watch, open_page, settle

FAR = "127.0.0.2:9"  # nobody listens there; whoever asks for it has followed a foreign link
HOSTILE = {
    "seed": f"a%0A%0A![x](http://{FAR}/x)",
    "depth": f"%60![x](http://{FAR}/x)%60",
    "task": f"<img src=http://{FAR}/x>",
    "strength": f"%0A%0A[x](http://{FAR})",
}
ALERT = "[data-testid=stAlert]"


@pytest.mark.soak  # long
def test_a_bad_link_is_quoted_and_nothing_in_it_is_followed(browser: Browser, served: Served):
    watch = Watch()
    with open_page(browser, watch) as page:
        page.goto(f"{served.url}/?" + "&".join(f"{name}={x}" for name, x in HOSTILE.items()))
        page.wait_for_selector(f"{ALERT} code")
        settle(page)
        box = page.locator(ALERT)
        assert box.locator("img, a, script, iframe").count() == 0
        quoted = set(box.locator("code").all_inner_texts())  # each parameter's name, and its value
        assert quoted >= set(HOSTILE)
        assert len(quoted) == 2 * len(HOSTILE)
        assert not [url for url in watch.requested if urlsplit(url).netloc == FAR]
        assert not [problem for problem in watch.problems if "404" not in problem]
