// Asks the process each second, and shows the last ten minutes.
"use strict";
const token = new URLSearchParams(location.search).get("token"), KEPT = 600;
const dark = matchMedia("(prefers-color-scheme: dark)");
const devices = new Map(), state = document.getElementById("state");
document.documentElement.classList.toggle("dark", dark.matches);

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
  return `${bytes.toFixed(unit ? 2 : 0)} ${units[unit]}`;
}

class Device {
  constructor(name) {
    const section = document.createElement("section"), heading = document.createElement("h2");
    heading.textContent = name;
    this.meter = document.createElement("meter");
    this.meter.setAttribute("aria-label", `reserved memory of ${name}`);
    this.numbers = document.createElement("p");
    this.curves = document.createElement("div");
    section.append(heading, this.meter, this.numbers, this.curves);
    document.getElementById("devices").append(section);
    this.data = [[], [], []];
    this.draw();
  }
  draw() {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const axis = {
      stroke: style.getPropertyValue("--soft").trim(), ticks: { show: false },
      grid: { stroke: style.getPropertyValue("--line").trim(), width: 1 },
    };
    this.plot = new uPlot({
      width: this.curves.clientWidth || 600, height: 180, cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (u, low, high) => [0, high || 1] } },
      axes: [axis, { ...axis, size: 90, incrs: [...Array(45).keys()].map(k => 2 ** k), values: (u, marks) => marks.map(sizeText) }],
      series: [
        {},
        { label: "for tensors", stroke: "#3b82f6", fill: "#3b82f633", value: (u, v) => v === null ? "" : sizeText(v) },
        { label: "reserved", stroke: "#8b95a5", value: (u, v) => v === null ? "" : sizeText(v) },
      ],
    }, this.data, this.curves);
  }
  tell(time, said) {
    [time, said.allocated, said.reserved].forEach((value, column) => {
      this.data[column].push(value);
      if (this.data[column].length > KEPT) this.data[column].shift();
    });
    this.plot.setData(this.data);
    this.meter.max = said.total || said.peak_reserved || 1;
    this.meter.value = said.reserved;
    const of = said.total ? ` of ${sizeText(said.total)}` : "";
    this.numbers.textContent = `${sizeText(said.allocated)} for tensors, ${sizeText(said.reserved)} reserved${of}; at most ` +
      `${sizeText(said.peak_allocated)} and ${sizeText(said.peak_reserved)}; ${said.retries} times the cache was emptied for ` +
      `room, ${said.ooms} times out of memory`;
    this.numbers.setAttribute("role", said.ooms ? "alert" : "none");
  }
}

async function ask() {
  try {
    const answer = await fetch("/stats", { headers: { Authorization: "Bearer " + token } });
    if (!answer.ok) throw new Error(await answer.text());
    const said = await answer.json();
    document.title = document.getElementById("title").textContent = `Memory of process ${said.pid}`;
    for (const each of said.devices) {
      if (!devices.has(each.device)) devices.set(each.device, new Device(each.device));
      devices.get(each.device).tell(said.time, each);
    }
    const when = new Date(1000 * said.time).toLocaleTimeString();
    state.textContent = said.devices.length ? `as of ${when}` : `no device has been used yet, as of ${when}`;
    state.setAttribute("role", "status");
  } catch (error) {
    state.textContent = `no answer: ${error.message}. What is shown is the last that was told.`;
    state.setAttribute("role", "alert");
  }
}
dark.addEventListener("change", () => {
  document.documentElement.classList.toggle("dark", dark.matches);
  for (const each of devices.values()) each.draw();
});
addEventListener("resize", () => {
  for (const each of devices.values()) each.plot.setSize({ width: each.curves.clientWidth, height: 180 });
});
ask();
setInterval(ask, 1000);
