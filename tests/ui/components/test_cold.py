"""What a server imports before its first picture: nothing that takes long and is not needed."""

import subprocess
import sys

import pytest

from tests.ui.opening import ROOT

CODE = """
import sys
from streamlit.testing.v1 import AppTest
import ui.components.stage as stage
import ui.components.pair as pair

sent = []
def component(**message):
    heavy = {"pandas", "pyarrow", "sympy", "scipy.spatial", "scipy.stats", "sklearn"}
    sent.append(heavy & {*sys.modules})

stage._component = pair._component = component
app = AppTest.from_file("app.py", default_timeout=120)
app.switch_page("pages/0_Flat_or_curved.py").run()
app.switch_page("pages/2_Decision_boundary.py").run()
assert sent == [set()] * 2, sent
for page in ("8_Efficient_attention", "11_Which_keys_curve", "12_Learn"):
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert not {"sympy", "torch._dynamo"} & {*sys.modules}, page  # five seconds
"""


@pytest.mark.soak
def test_a_first_picture_needs_no_pandas_no_sympy_and_little_of_scipy():
    subprocess.run([sys.executable, "-c", CODE], check=True, cwd=ROOT)
