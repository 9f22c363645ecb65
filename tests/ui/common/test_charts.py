"""Charts are drawn with an alt text, and saved with all that they show."""

import csv
import io

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.opening import TIMEOUT_SECONDS, figure, offered
from ui.common import charts as c
from ui.common.charts import Charts, bars, chart, heatmap, line, log_axis, mark_x, mark_y


def saved(charts):
    return {name: [*csv.reader(io.StringIO(text))] for name, text in charts.csv_files().items()}


def test_the_data_of_a_page_are_those_of_its_charts_and_tables_with_units():
    charts = Charts("tab")
    lines = [line("a", [1, 2], [3, 4], [0.5, 0.25]), line("b", ["x"], [5], [[1], [2]]),
             bars("c", [1], [7], colour="red")]  # fmt: skip
    charts.figures["lines"] = chart("Loss", lines, "budget,<br>keys", "nats per character")
    charts.figures["map"] = chart(
        "Map", [heatmap(np.array([[1, 2]]), 0, 1, "Greys", name="d", colorbar_title_text="K")]
    )
    charts.tables["table"] = {"k": ["1"], "scores read": ["2"]}
    rows = saved(charts)
    assert rows["lines"] == [
        ["series", "budget, keys", "nats per character", "value", "minus", "plus"],
        ["a", "1", "3.0", "", "0.5", "0.5"], ["a", "2", "4.0", "", "0.25", "0.25"],
        ["b", "x", "5.0", "", "1.0", "2.0"], ["c", "1", "7.0", "", "", ""],
    ]  # fmt: skip
    assert rows["map"] == [
        ["series", "x", "y", "K (1 / length^2)", "minus", "plus"],
        ["d", "0", "0", "1", "", ""], ["d", "1", "0", "2", "", ""],
    ]  # fmt: skip
    assert rows["table"] == [["k", "scores read"], ["1", "2"]]


def test_an_interval_along_x_is_saved_too():
    trace = line("a", [2.0], [0], [0.5])
    trace["error_x"] = trace.pop("error_y")
    charts = Charts("tab")
    charts.figures["across"] = chart("Across", [trace], "loss", "")
    assert saved(charts)["across"][1] == ["a", "2.0", "0.0", "", "0.5", "0.5"]


@pytest.mark.parametrize("axis", [{}, log_axis(1, 100)])
def test_marks_stand_at_their_numbers(axis):
    drawn = mark_y(mark_x(chart("A", [line("a", [1, 9], [2, 3])], x_axis=axis), 4, "k = 4"), 2.5)
    upright, level = drawn.layout.shapes
    assert (upright.x0, upright.x1, level.y0, level.y1) == (4, 4, 2.5, 2.5)
    assert drawn.layout.annotations[0].x == pytest.approx(np.log10(4) if axis else 4)


def draws_a_chart():
    import streamlit as st

    from ui.common.charts import Charts, chart, line

    charts = Charts("tab")
    charts.draw("loss", st, chart("Loss", [line("a", [1], [2])]), "The loss is 2.")
    charts.draw_table("bounds", st, "Bounds", {"k": ["1"]})
    charts.draw_footer("**Charts.** One point.")


def test_a_tab_has_alt_texts_an_explanation_and_offers_its_data():
    app = AppTest.from_function(draws_a_chart, default_timeout=TIMEOUT_SECONDS).run()
    assert not app.exception
    (picture,) = app.get("plotly_chart")
    assert picture.proto.alt == "The loss is 2."
    assert figure(app, "tab_loss")["layout"]["title"]["text"] == "<b>Loss</b>"
    assert [*offered(app).charts["tab"].csv_files()] == ["bounds", "loss"]
    assert "**Charts.** One point." in [text.value for text in app.markdown]


def test_a_chart_has_room_for_the_larger_words_of_present_mode(monkeypatch):
    figure = chart("Title", [heatmap(np.eye(2), 0, 1, "gray", colorbar={"y": -0.2})], "x", "y")
    assert c.in_type_of_page(figure) is figure
    monkeypatch.setattr(c, "is_presenting", lambda: True)
    larger = c.in_type_of_page(figure)
    assert larger.layout.xaxis.tickfont.size == c.PRESENT_PIXELS
    room = [each.layout.height - each.layout.margin.t - each.layout.margin.b
            for each in (figure, larger)]  # fmt: skip
    assert larger.layout.margin.b / figure.layout.margin.b == c.PRESENT_PIXELS / c.FONT_PIXELS
    assert room[1] > 0.9 * room[0]  # it is not the drawing that pays for it
    assert larger.data[0].colorbar.y < figure.data[0].colorbar.y == -0.2
