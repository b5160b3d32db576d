// The parts together: what is shown, which moment, and what mouse and keys do.
const $ = id => document.getElementById(id);
const bands = new Bands($("bands")), map = new SegmentMap($("segments")), flame = new Flame($("flame"));
let device, buffer, moment = 0, found = null, hidden = new Set(), curves = null, waiting = false;

// 0: not shown, 1: pale, 2: in its colour.
const shown = i => hidden.has(device.category[i]) ? 0
  : !found || found.stacks.has(device.stack[i]) || found.category === device.category[i] ? 2 : 1;

function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    bands.draw(device, shown, moment);
    curves?.setScale("x", { min: bands.from, max: bands.to });
  });
}

function zoom(factor, middle = (bands.from + bands.to) / 2) {
  const [first, last] = device.span();
  const least = device.byTime ? 1e-3 : 4;
  const width = Math.min(last - first, Math.max(least, (bands.to - bands.from) * factor));
  const part = (middle - bands.from) / (bands.to - bands.from);
  show(middle - part * width, middle + (1 - part) * width);
}
function show(from, to) {
  const [first, last] = device.span(), width = to - from;
  if (from < first) from = first, to = first + width;
  if (to > last) to = last, from = Math.max(first, last - width);
  bands.from = from, bands.to = to;
  if (curves) curves.setData(curveData());
  redraw();
}
function pan(part) {
  const by = part * (bands.to - bands.from);
  show(bands.from + by, bands.to + by);
}
function all() {
  const [first, last] = device.span();
  bands.low = 0, bands.high = device.height;
  show(first, last);
}

// As many points as there are pixels: the lowest and highest of each piece.
function curveData() {
  const first = device.eventAt(bands.from), last = device.eventAt(bands.to);
  const step = Math.max(1, Math.floor((last - first) / 2000)), x = [], allocated = [], reserved = [];
  for (let i = first; i <= last; i += step) {
    let peak = i, most = i;
    for (let j = i; j < Math.min(i + step, last + 1); j++) {
      if (device.allocated[j] > device.allocated[peak]) peak = j;
      if (device.reserved[j] > device.reserved[most]) most = j;
    }
    x.push(device.x(i)), allocated.push(device.allocated[peak]), reserved.push(device.reserved[most]);
  }
  return [x, allocated, reserved];
}
function makeCurves() {
  curves?.destroy();
  curves = null;
  if (!device.events) return;
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--soft").trim();
  const axis = { stroke: ink, grid: { stroke: style.getPropertyValue("--line").trim(), width: 1 }, ticks: { show: false } };
  curves = new uPlot({
    width: $("curves").clientWidth, height: 120, padding: [10, 0, 0, 0], cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (u, low, high) => [0, high || 1] } },
    axes: [{ ...axis, size: 24 }, { ...axis, size: 70, incrs: [...Array(45).keys()].map(k => 2 ** k), values: (u, marks) => marks.map(sizeText) }],
    series: [
      { label: device.byTime ? "ms" : "event" },
      { label: "allocated", stroke: "#4c78a8", fill: "#4c78a833", value: (u, v) => v == null ? "" : sizeText(v) },
      { label: "reserved", stroke: "#e45756", value: (u, v) => v == null ? "" : sizeText(v) },
    ],
  }, curveData(), $("curves"));
}

function setMoment(event) {
  moment = Math.max(0, Math.min(Math.max(device.events - 1, 0), event));
  const summary = map.draw(device, moment, shown);
  flame.draw(device, moment, shown);
  const when = about.times && device.events ? `, ${(device.time[moment] / 1000).toFixed(3)} ms` : "";
  $("moment").textContent = device.events
    ? `event ${moment} of ${device.events}${when}: ${sizeText(device.allocated[moment])} asked for, ` +
      `${sizeText(device.reserved[moment])} reserved` : "no history: the state when the snapshot was made";
  $("stranded").textContent = `${summary.segments} segments, ${sizeText(summary.free)} free in them, of which ` +
    `${sizeText(summary.stranded)} is stranded: live blocks keep ${summary.pinned} segments`;
  const rows = device.liveAt(moment).filter(i => shown(i) === 2).sort((a, b) => device.size[b] - device.size[a]).slice(0, 12);
  $("largest").tBodies[0].replaceChildren(...rows.map(i => {
    const row = document.createElement("tr");
    row.tabIndex = 0;
    for (const text of [sizeText(device.size[i]), about.categories[device.category[i]], about.places[device.stack[i]]])
      row.insertCell().textContent = text;
    row.onclick = () => choose(i);
    row.onkeydown = event => { if (event.key === "Enter") choose(i); };
    return row;
  }));
  redraw();
}

function bandText(i) {
  const ends = device.end[i] >= device.events;
  const begins = device.begin[i] < 0 ? "before the history" : `event ${device.begin[i]}`;
  let life = `${begins} to ${ends ? "the end" : `event ${device.end[i]}`}`;
  if (about.times && device.begin[i] >= 0 && !ends)
    life += ` (${((device.time[device.end[i]] - device.time[device.begin[i]]) / 1000).toFixed(3)} ms)`;
  return `${sizeText(device.size[i])} ${about.categories[device.category[i]]}\n${life}\nat 0x${device.address[i].toString(16)}`;
}
function choose(i) {
  bands.chosen = i;
  const box = $("chosen");
  box.replaceChildren(document.createTextNode(bandText(i) + "\n"));
  about.stacks[device.stack[i]].forEach(number => {
    const [file, line, name] = about.frames[number];
    box.append(document.createTextNode((file ? `${file}:${line} in ${name}` : name) + "\n"));
    if (about.lines[number]) {
      const code = document.createElement("code");
      code.textContent = about.lines[number];
      box.append(code);
    }
  });
  redraw();
}

function tip(text, x, y) {
  const box = $("tip");
  box.hidden = !text;
  if (!text) return;
  box.textContent = text;
  box.style.left = $("bands").offsetLeft + Math.min(x + 12, $("bands").clientWidth - 300) + "px";
  box.style.top = $("bands").offsetTop + y + 12 + "px";
}

function setUpMouse() {
  const canvas = $("bands");
  let drag = null;
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const part = event.offsetX / canvas.clientWidth;
    const up = 1 - event.offsetY / canvas.clientHeight;
    if (event.shiftKey) {
      const place = bands.low + up * (bands.high - bands.low);
      const high = Math.min(device.height, (bands.high - bands.low) * Math.exp(event.deltaY / 400));
      bands.low = Math.max(0, place - up * high), bands.high = Math.min(device.height, bands.low + high);
      redraw();
    } else zoom(Math.exp(event.deltaY / 400), bands.from + part * (bands.to - bands.from));
  }, { passive: false });
  canvas.onpointerdown = event => {
    drag = { x: event.offsetX, from: bands.from, to: bands.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = event => {
    if (drag && Math.abs(event.offsetX - drag.x) > 3) {
      drag.moved = true;
      const by = (drag.x - event.offsetX) / canvas.clientWidth * (drag.to - drag.from);
      return show(drag.from + by, drag.to + by);
    }
    const i = bands.at(device, event.offsetX, event.offsetY, shown);
    tip(i < 0 ? "" : bandText(i) + "\n" + stackText(device.stack[i]).slice(0, 6).join("\n"), event.offsetX, event.offsetY);
  };
  canvas.onpointerup = event => {
    if (drag && !drag.moved) {
      const i = bands.at(device, event.offsetX, event.offsetY, shown);
      setMoment(device.eventAt(bands.from + (bands.to - bands.from) * event.offsetX / canvas.clientWidth));
      if (i >= 0) choose(i);
    }
    drag = null;
  };
  canvas.onpointerleave = () => tip("");
  $("segments").onclick = event => {
    const i = map.at(event.offsetX, event.offsetY);
    if (i >= 0) choose(i);
  };
  $("flame").onclick = event => {
    const box = flame.at(event.offsetX, event.offsetY);
    if (box) flame.path = box[4], flame.draw(device, moment, shown);
  };
  $("flame").onmousemove = event => {
    const box = flame.at(event.offsetX, event.offsetY);
    $("flame-text").textContent = box ? flame.text(box) : "";
  };
}

function nextOom() {
  const next = device.ooms.find(oom => oom.event > moment) ?? device.ooms[0];
  if (next) setMoment(next.event);
}
function toggleAxis() {
  if (!about.times) return;
  device.byTime = !device.byTime;
  $("axis").setAttribute("aria-pressed", device.byTime);
  $("axis").textContent = device.byTime ? "By event" : "By time";
  makeCurves(), all();
}
function toggleTheme() {
  const dark = document.documentElement.classList.toggle("dark");
  $("theme").textContent = dark ? "Light" : "Dark";
  makeCurves(), setMoment(moment);
}
function look() {
  found = searched($("search").value);
  setMoment(moment);
}
const KEYS = {
  ArrowLeft: event => event.shiftKey ? setMoment(moment - 1) : pan(-0.2),
  ArrowRight: event => event.shiftKey ? setMoment(moment + 1) : pan(0.2),
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: all, p: () => setMoment(device.peakEvent),
  o: nextOom, t: toggleAxis, d: toggleTheme, "/": () => $("search").focus(), "?": () => $("help").showModal(),
};

function choose_device(number) {
  device = new Device(buffer, number);
  bands.chosen = -1, flame.path = [];
  $("ooms").replaceChildren(...device.ooms.slice(0, 50).map((oom, i) => {
    const button = document.createElement("button");
    button.textContent = `OOM ${i + 1}: ${sizeText(oom.size)}`;
    button.title = `asked for ${sizeText(oom.size)}, the device had ${sizeText(oom.free)} free; ${about.places[oom.stack]}`;
    button.onclick = () => setMoment(oom.event);
    return button;
  }));
  bands.resize();
  makeCurves();
  all();
  setMoment(device.ooms.length ? device.ooms[0].event : device.peakEvent);
}

async function start() {
  buffer = await unpack();
  $("title").textContent = `${about.name} (${about.maker})`;
  document.title = `Memory: ${about.name}`;
  $("title").title = Object.entries(about.settings).map(([key, value]) => `${key}: ${value}`).join("\n");
  about.devices.forEach((each, i) => $("device").add(new Option(each.index, i)));
  about.categories.forEach((name, number) => {
    const label = document.createElement("label"), box = document.createElement("input"), swatch = document.createElement("span");
    box.type = "checkbox", box.checked = true, box.dataset.category = name;
    swatch.className = "swatch", swatch.style.background = COLOURS[number];
    box.onchange = () => { box.checked ? hidden.delete(number) : hidden.add(number); setMoment(moment); };
    label.append(box, swatch, name);
    $("categories").append(label);
  });
  $("device").onchange = event => choose_device(Number(event.target.value));
  $("search").oninput = look;
  $("zoom-in").onclick = () => zoom(0.6), $("zoom-out").onclick = () => zoom(1 / 0.6), $("reset").onclick = all;
  $("peak").onclick = () => setMoment(device.peakEvent), $("axis").onclick = toggleAxis, $("theme").onclick = toggleTheme;
  $("axis").disabled = !about.times;
  $("flame-up").onclick = () => { flame.path = []; flame.draw(device, moment, shown); };
  $("help-button").onclick = () => $("help").showModal(), $("help-close").onclick = () => $("help").close();
  setUpMouse();
  document.onkeydown = event => {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = KEYS[event.key];
    if (act) event.preventDefault(), act(event);
  };
  window.onresize = () => { bands.resize(); makeCurves(); setMoment(moment); };
  if (window.matchMedia("(prefers-color-scheme: dark)").matches)
    document.documentElement.classList.add("dark"), $("theme").textContent = "Light";
  if (!about.devices.length) { $("moment").textContent = "The snapshot has no memory of any device."; return; }
  choose_device(about.devices.reduce((best, each, i) => each.events > about.devices[best].events ? i : best, 0));
  $("device").value = about.devices.indexOf(about.devices.find(each => each.index === device.index));
  document.documentElement.dataset.ready = "true";
}
start();
