"""The page of ``mindtorch memory view`` in a real browser: `make memory-page`. CHROMIUM names the browser's program."""

import base64
import lzma
import os
import pickle
import random
import re
from pathlib import Path

import pytest

from mindtorch_v2 import memory_tools

DATA = Path(__file__).parents[1] / "memory_tools" / "data"
GOLDEN = Path(__file__).parent / "bands.png"
SIZE = {"width": 1280, "height": 900}


class Opened:
    """A page, with everything that it asked for and complained of."""

    def __init__(self, browser, path, scheme="light"):
        self.page = browser.new_context(viewport=SIZE, color_scheme=scheme).new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=true]", state="attached", timeout=60_000)

    def range(self):
        return self.page.evaluate("[bands.from, bands.to]")

    def moment(self):
        return self.page.evaluate("moment")

    def settle(self):
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def written(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("page") / f"{name}.html"
    memory_tools.view(memory_tools.from_data(data, name), path)
    return path


@pytest.fixture(scope="session")
def training(tmp_path_factory):
    """PyTorch's training on a GPU, with an out-of-memory added at event 500."""
    data = pickle.loads(lzma.decompress((DATA / "pytorch_h200_gpt.pickle.xz").read_bytes()))
    trace = data["device_traces"][0]
    failed = {"action": "oom", "device_free": 1 << 20, "size": 1 << 33, "stream": 0}
    trace.insert(500, failed | {key: trace[499][key] for key in ("frames", "time_us")})
    return written(tmp_path_factory, data, "training")


@pytest.fixture
def opened(browser, training):
    found = Opened(browser, training)
    yield found
    assert found.complaints == []
    assert found.requests == [training.as_uri()]  # and nothing else
    found.page.context.close()


def test_the_page_shows_its_name_its_devices_and_the_first_out_of_memory(opened):
    assert opened.page.inner_text("#title") == "training (PyTorch)"
    assert opened.page.inner_text("#ooms button") == "OOM 1: 8.00 GiB"
    assert opened.moment() == 500
    assert re.match(r"event 500 of \d+, [\d.]+ ms: [\d.]+ MiB asked for", opened.page.inner_text("#moment"))
    assert "stranded" in opened.page.inner_text("#stranded")
    assert opened.page.evaluate("bands.drawn") > 1000


def test_buttons_zoom_pan_and_go_to_the_peak(opened):
    whole = opened.range()
    opened.page.click("#zoom-in")
    nearer = opened.range()
    assert nearer[1] - nearer[0] == pytest.approx((whole[1] - whole[0]) * 0.6)
    opened.page.click("#zoom-out")
    assert opened.range() == pytest.approx(whole, abs=1)
    opened.page.click("#peak")
    assert opened.moment() == opened.page.evaluate("device.peakEvent")
    opened.page.click("#zoom-in")
    opened.page.click("#reset")
    assert opened.range() == whole


def test_keys_do_what_buttons_do(opened):
    whole = opened.range()
    press = opened.page.keyboard.press
    press("+")
    before = opened.range()
    press("ArrowRight")
    assert opened.range()[0] > before[0]
    press("ArrowLeft")
    assert opened.range() == pytest.approx(before)
    press("Shift+ArrowRight")
    assert opened.moment() == 501
    press("p")
    assert opened.moment() == opened.page.evaluate("device.peakEvent")
    press("o")
    assert opened.moment() == 500
    press("0")
    assert opened.range() == whole
    press("d")
    assert opened.page.evaluate("document.documentElement.classList.contains('dark')")
    press("t")
    assert opened.page.get_attribute("#axis", "aria-pressed") == "true"
    press("?")
    assert opened.page.is_visible("#help")
    opened.page.click("#help-close")
    press("/")
    assert opened.page.evaluate("document.activeElement.id") == "search"


def test_the_wheel_zooms_and_dragging_pans(opened):
    box = opened.page.locator("#bands").bounding_box()
    whole = opened.range()
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    opened.page.mouse.wheel(0, -400)
    opened.settle()
    near = opened.range()
    assert near[1] - near[0] < (whole[1] - whole[0]) * 0.5
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2, steps=4)
    opened.page.mouse.up()
    assert opened.range()[0] > near[0]


def on_a_band(opened):
    """A point of the largest block that lives at the moment."""
    return opened.page.evaluate(
        """() => {
      const block = device.liveAt(moment).sort((a, b) => device.size[b] - device.size[a])[0];
      const canvas = document.getElementById("bands").getBoundingClientRect();
      const x = (device.x(moment) - bands.from) / (bands.to - bands.from) * canvas.width;
      const y = (1 - (device.y[block] + device.size[block] / 2 - bands.low) / (bands.high - bands.low)) * canvas.height;
      return { x: canvas.x + x, y: canvas.y + y, block };
    }"""
    )


def test_a_band_tells_its_size_stack_and_lifetime_and_a_click_shows_its_lines(opened):
    opened.page.keyboard.press("p")
    point = on_a_band(opened)
    opened.page.mouse.move(point["x"], point["y"])
    assert re.match(r"[\d.]+ MiB \w+\nevent \d+ to ", opened.page.inner_text("#tip"))
    opened.page.mouse.click(point["x"], point["y"])
    assert opened.page.evaluate("bands.chosen") == point["block"]
    assert "/home/user/train.py:" in opened.page.inner_text("#chosen")


def test_blocks_of_the_map_rows_of_the_table_and_parts_of_the_flame_graph_can_be_chosen(opened):
    opened.page.keyboard.press("p")
    box = opened.page.evaluate("map.boxes.reduce((a, b) => b[2] - b[0] > a[2] - a[0] ? b : a)")
    opened.page.locator("#segments").click(position={"x": (box[0] + box[2]) / 2, "y": (box[1] + box[3]) / 2})
    assert opened.page.evaluate("bands.chosen") == box[4]
    opened.page.locator("#largest tbody tr").nth(1).focus()
    opened.page.keyboard.press("Enter")
    assert (
        opened.page.inner_text("#chosen")
        .split("\n")[0]
        .startswith(opened.page.locator("#largest tbody tr").nth(1).locator("td").first.inner_text())
    )
    part = opened.page.evaluate("flame.boxes.find(box => box[4].length === 2).slice(0, 4)")
    place = {"x": (part[0] + part[2]) / 2, "y": (part[1] + part[3]) / 2}
    opened.page.locator("#flame").hover(position=place)
    assert "train.py" in opened.page.inner_text("#flame-text")
    opened.page.locator("#flame").click(position=place)
    assert opened.page.evaluate("flame.path.length") == 2
    opened.page.click("#flame-up")
    assert opened.page.evaluate("flame.path.length") == 0


def test_search_and_categories_choose_what_is_shown(opened):
    everything = opened.page.evaluate("device.liveAt(moment).filter(i => shown(i) === 2).length")
    opened.page.fill("#search", "optim/adam.py")
    some = opened.page.evaluate("device.liveAt(moment).filter(i => shown(i) === 2).length")
    assert some < everything
    opened.page.fill("#search", "")
    names = opened.page.evaluate("about.categories.filter((_, n) => device.category.includes(n))")
    assert {"parameters", "gradients", "optimizer state", "activations", "temporaries"} <= set(names)
    drawn = opened.page.evaluate("bands.drawn")
    opened.page.uncheck("input[data-category=activations]")
    opened.settle()
    assert opened.page.evaluate("bands.drawn") < drawn


def test_it_is_dark_where_the_reader_wants_it_dark(browser, training):
    found = Opened(browser, training, "dark")
    assert found.page.evaluate("document.documentElement.classList.contains('dark')")
    found.page.click("#theme")
    assert not found.page.evaluate("document.documentElement.classList.contains('dark')")
    found.page.context.close()


def test_the_bands_look_as_they_did(opened):
    """A canvas has no fonts, so pixels can be compared. MEMORY_PAGE_WRITE=1 writes the picture anew."""
    opened.page.evaluate(
        "bands.canvas.width = 800, bands.canvas.height = 300, bands.draw(device, shown, moment)"
    )
    if os.environ.get("MEMORY_PAGE_WRITE"):
        picture = opened.page.evaluate("bands.canvas.toDataURL('image/png')")
        GOLDEN.write_bytes(base64.b64decode(picture.split(",")[1]))
    different = opened.page.evaluate(
        """async url => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = new OffscreenCanvas(800, 300), context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const wanted = context.getImageData(0, 0, 800, 300).data;
      const got = bands.context.getImageData(0, 0, 800, 300).data;
      let different = 0;
      for (let i = 0; i < got.length; i += 4)
        different += Math.abs(got[i] - wanted[i]) + Math.abs(got[i + 1] - wanted[i + 1]) > 16;
      return different / (got.length / 4);
    }""",
        "data:image/png;base64," + base64.b64encode(GOLDEN.read_bytes()).decode(),
    )
    assert different < 0.001


def million():
    """A million events on eight segments."""
    random.seed(1)
    stacks = [
        [{"filename": f"/home/user/layer{i % 40}.py", "line": i, "name": f"f{i}"},
         {"filename": "/home/user/train.py", "line": 9, "name": "main"}]
        for i in range(2000)
    ]  # fmt: skip
    bases = [(1 << 40) + (number << 30) for number in range(8)]
    slots = [base + offset for base in bases for offset in range(0, 1 << 30, 1 << 17)]
    random.shuffle(slots)

    def event(action, address, size, time, stack):
        return {
            "action": action,
            "addr": address,
            "size": size,
            "stream": 0,
            "time_us": time,
            "frames": stacks[stack],
        }

    events = [event("segment_alloc", base, 1 << 30, 0, 0) for base in bases]
    live = []
    while len(events) < 1_000_000:
        time = len(events)
        if len(live) < 200 or (random.random() < 0.334 and len(live) < 20_000):
            live.append((slots.pop(), random.randrange(512, 1 << 17)))
            events.append(event("alloc", *live[-1], time, random.randrange(2000)))
        else:
            place = random.randrange(len(live))
            live[place], live[-1] = live[-1], live[place]
            address, size = live.pop()
            slots.append(address)
            events += [
                event("free_requested", address, size, time, 1),
                event("free_completed", address, size, time, 1),
            ]
    segments = []
    for base in bases:
        blocks, at = [], base
        for address, size in sorted(block for block in live if base <= block[0] < base + (1 << 30)):
            if address > at:
                blocks.append({"size": address - at, "requested_size": 0, "state": "inactive"})
            blocks.append({"size": size, "requested_size": size, "state": "active_allocated"})
            at = address + size
        blocks.append({"size": base + (1 << 30) - at, "requested_size": 0, "state": "inactive"})
        segments.append({"device": 0, "address": base, "total_size": 1 << 30, "stream": 0, "blocks": blocks})
    return {"segments": segments, "device_traces": [events], "allocator_settings": {}}


@pytest.mark.timeout(600)
def test_a_million_events_open_within_five_seconds_and_a_gigabyte_and_move_fluidly(browser, tmp_path_factory):
    path = written(tmp_path_factory, million(), "million")
    found = Opened(browser, path)
    assert found.page.evaluate("device.events") == 1_000_000
    assert found.page.evaluate("performance.now()") < 5000
    assert found.page.evaluate("performance.memory.usedJSHeapSize") < 1 << 30
    frames = found.page.evaluate(
        """async () => {
      const times = [];
      for (let i = 0; i < 12; i++) {
        const start = performance.now();
        zoom(i % 2 ? 1 / 0.6 : 0.6);
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b);
    }"""
    )
    assert frames[len(frames) // 2] < 200, frames
    found.page.context.close()
