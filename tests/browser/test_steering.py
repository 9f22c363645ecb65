"""Does the page Steering fit the screen at once, write until it is stopped, and follow a click?"""

import pytest

from .accessibility import assert_accessible
from .looking import assert_dark, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import DESK, PHONE, follow_link, open_page, resize, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")
