"""Does the page Steering fit the screen at once, write until it is stopped, and follow a click?"""

import pytest

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")
