// What the page was given: texts from `about`, columns of numbers from `data`.
const about = JSON.parse(document.getElementById("about").textContent);
const TYPES = { f8: Float64Array, i4: Int32Array, u4: Uint32Array, u1: Uint8Array };
const COLOURS = ["#4c78a8", "#e45756", "#b279a2", "#54a24b", "#eeca3b", "#72b7b2", "#9d9da1"];
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function sizeText(bytes) {
  let unit = 0, value = Math.abs(bytes);
  while (value >= 1024 && unit < UNITS.length - 1) value /= 1024, unit++;
  return (bytes < 0 ? "-" : "") + (unit ? value.toFixed(2) : value) + " " + UNITS[unit];
}

async function unpack() {
  const element = document.getElementById("data");
  const text = atob(element.textContent.trim());
  element.textContent = "";
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// A device's columns, and what is asked of them.
class Device {
  constructor(buffer, number) {
    Object.assign(this, about.devices[number]);
    for (const [name, [type, offset, length]] of Object.entries(about.columns)) {
      const found = /^(.*?)(\d+)$/.exec(name);
      if (Number(found[2]) === number) this[found[1]] = new TYPES[type](buffer, offset, length);
    }
    this.count = this.y.length;
    this.byTime = false;
    this.peakEvent = 0;
    for (let i = 0; i < this.events; i++) if (this.allocated[i] > this.allocated[this.peakEvent]) this.peakEvent = i;
  }
  // Events on the axis: their number, or their time in milliseconds.
  x(event) {
    if (!this.byTime) return event;
    const last = this.events - 1;
    if (last < 0) return 0;
    return event < 0 ? 0 : event > last ? this.time[last] / 1000 + 1e-3 : this.time[event] / 1000;
  }
  span() { return [this.x(this.byTime ? 0 : -1), Math.max(this.x(this.events), this.x(0) + 1)]; }
  eventAt(x) {
    if (!this.byTime) return Math.max(0, Math.min(this.events - 1, Math.floor(x)));
    let low = 0, high = this.events - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time[middle] / 1000 <= x) low = middle; else high = middle - 1;
    }
    return low;
  }
  liveAt(event) {
    const found = [];
    for (let i = 0; i < this.count; i++) if (this.begin[i] <= event && this.end[i] > event) found.push(i);
    return found;
  }
  segmentsAt(event) {
    const found = [];
    for (let i = 0; i < this.segment_y.length; i++)
      if (this.segment_begin[i] <= event && this.segment_end[i] > event) found.push(i);
    return found.sort((a, b) => this.segment_address[a] - this.segment_address[b]);
  }
}

function stackText(stack) {
  return about.stacks[stack].map(number => {
    const [file, line, name] = about.frames[number];
    return file ? `${file}:${line} in ${name}` : name;
  });
}

// Stacks that the search finds, as a set of numbers; null when nothing is searched.
function searched(words) {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return null;
  const frames = about.frames.map(([file, line, name]) => `${file}:${line} ${name}`.toLowerCase().includes(wanted));
  const stacks = new Set();
  about.stacks.forEach((stack, number) => { if (stack.some(frame => frames[frame])) stacks.add(number); });
  return { stacks, category: about.categories.findIndex(name => name === wanted) };
}
