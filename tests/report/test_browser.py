"""The report in a real browser: plots are there, nothing is fetched, the console is clean."""

from __future__ import annotations

import json
import shutil

import pytest

from longtail.choosing import Comparison, Result, compare
from longtail.data import Dataset
from longtail.report import comparison_html, save_page
from tests.cli.conftest import call
from tests.cli.files import write_features
from tests.report.test_comparison import COMMON

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HOW = "as root on Debian: apt-get install chromium chromium-driver; pip install selenium"
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason=f"there is no chromium with its driver; {HOW}"
)

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
PLOTS = 7
HOSTILE = "</title><script>document.title = 'owned'</script><img src=http://example.org/x.png>"


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason=f"there is no selenium; {HOW}")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page that the command writes."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "data").mkdir()
    write_features(folder / "data" / "train.txt", folder / "data" / "test.txt")
    outcome = call(
        "compare", folder / "data", "-m", "dismec,br,ova", "-q", "--report", folder / "out.html"
    )
    assert outcome.code == 0
    return folder / "out.html"


def opened(driver, path, *, width=1200, dark=False):
    """Open a page in a window of this width; what it asked for and what the console says."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(path.as_uri())
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        # the browser's own first page, which no other page can ask for
        and not event["params"]["request"]["url"].startswith("chrome://")
    ]
    return asked, driver.get_log("browser")


def boxes(driver, what):
    return driver.execute_script(
        "return Array.from(document.querySelectorAll(arguments[0]), each => {"
        " const box = each.getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height]; })",
        what,
    )


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 390])
def test_plots_are_there_and_nothing_is_fetched(driver, report, width, dark):
    asked, said = opened(driver, report, width=width, dark=dark)
    assert said == []
    assert asked[0] == report.as_uri()
    assert all(url == report.as_uri() or url.startswith("data:") for url in asked)
    plots = boxes(driver, "svg")
    assert len(plots) == PLOTS
    for x, _, wide, high in plots:
        assert min(wide, high) > 150
        assert x >= 0
        assert x + wide <= width
    drawn = boxes(driver, "svg [id*=line2d] path")
    assert len(drawn) > 20
    across = "return document.documentElement.scrollWidth"
    assert driver.execute_script(across) <= width  # only tables scroll sideways


@pytest.mark.exhaustive
def test_all_methods_on_one_page(driver, all_compared):
    """As `compare --methods all` writes it: every method is in a table, and the plots are there."""
    found, page = all_compared
    asked, said = opened(driver, page)
    assert said == []
    assert all(url == page.as_uri() or url.startswith("data:") for url in asked)
    assert len(boxes(driver, "svg")) == PLOTS
    rows = "return Array.from(document.querySelectorAll('tbody th'), each => each.textContent)"
    named = set(driver.execute_script(rows))
    assert {result["name"] for result in found["results"]} <= named


def test_text_of_plots_is_inside_them(driver, report):
    opened(driver, report)
    for number, (x, y, wide, high) in enumerate(boxes(driver, "svg")):
        script = (
            "return Array.from(document.querySelectorAll('svg')[arguments[0]]"
            ".querySelectorAll('text'), each => { const box = each.getBoundingClientRect();"
            " return [box.left, box.top, box.right, box.bottom]; })"
        )
        texts = driver.execute_script(script, number)
        assert texts
        for left, top, right, bottom in texts:
            assert left >= x - 1
            assert top >= y - 1
            assert right <= x + wide + 1
            assert bottom <= y + high + 1


def test_names_are_not_broken_on_a_phone(driver, tmp_path):
    """A long reason leaves the name of its method on one line."""
    why = "Not tried: it takes about 1 hour, and the limit is 1 minute: " + "many words " * 20
    failed = Result("powerset", "powerset", {}, failure=why)
    save_page(comparison_html(Comparison(COMMON, [failed])), tmp_path / "out.html")
    opened(driver, tmp_path / "out.html", width=390)
    lines = driver.execute_script(
        "return Array.from(document.querySelectorAll('tbody th'), each => {"
        " const range = document.createRange(); range.selectNodeContents(each);"
        " return [each.textContent, range.getClientRects().length]; })"
    )
    assert dict(lines)["powerset"] == 1


def test_dark_and_light(driver, report):
    colours = []
    for dark in (False, True):
        opened(driver, report, dark=dark)
        colours.append(
            driver.execute_script(
                "return ['body', 'svg text'].map(what => getComputedStyle("
                "document.querySelector(what))).map(style => [style.color, style.fill,"
                " style.backgroundColor])"
            )
        )
    (paper, ink), (dark_paper, dark_ink) = colours
    assert paper[2] != dark_paper[2]
    assert ink[1] == paper[0]
    assert dark_ink[1] == dark_paper[0] != paper[0]


def test_hostile_names_stay_text(driver, tmp_path):
    """Of the data, labels, methods and command: nothing of theirs runs or is fetched."""
    labels = [(HOSTILE,), ("sea",), (HOSTILE, "sea"), ("sun",)] * 10
    data = Dataset([[1, 0], [0, 1], [1, 1], [0, 2]] * 10, labels, name=HOSTILE)
    found = compare(data, data, {HOSTILE: "dismec", f"{HOSTILE} 2": "br"}, k=[1], curves=True)
    page = comparison_html(found, command=HOSTILE, interrupted=HOSTILE)
    save_page(page, tmp_path / "out.html")
    asked, said = opened(driver, tmp_path / "out.html")
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [
        (tmp_path / "out.html").as_uri()
    ]
    assert driver.title == f"Methods compared on {HOSTILE}"
    assert driver.find_elements("css selector", "code")[-1].text == HOSTILE
    assert boxes(driver, "script, img") == []
    assert len(boxes(driver, "svg")) == PLOTS
