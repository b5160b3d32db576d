// Every allocation as a rectangle of time and address, written straight into pixels.
class Bands {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.from = 0, this.to = 1, this.low = 0, this.high = 1;
    this.chosen = -1;
  }
  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
  }
  draw(device, shown, moment) {
    const { width, height } = this.canvas;
    const image = this.context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(packedColour(getComputedStyle(document.documentElement).getPropertyValue("--ground").trim()));
    const across = width / (this.to - this.from), up = height / (this.high - this.low);
    const colours = COLOURS.map(packedColour), dim = packedColour("#8884"), edge = packedColour("#f0f");
    this.drawn = 0;
    const xs = this.positions(device);
    for (let i = 0; i < device.count; i++) {
      const begin = xs.begin(i), end = xs.end(i);
      if (end < this.from || begin > this.to) continue;
      const y0 = device.y[i], y1 = y0 + device.size[i];
      if (y1 < this.low || y0 > this.high) continue;
      const left = Math.max(0, Math.floor((begin - this.from) * across));
      const right = Math.min(width, Math.max(left + 1, Math.floor((end - this.from) * across)));
      const bottom = Math.min(height, Math.ceil(height - (y0 - this.low) * up));
      const top = Math.max(0, Math.min(bottom - 1, Math.floor(height - (y1 - this.low) * up)));
      const visible = shown(i);
      if (visible === 0) continue;
      let colour = i === this.chosen ? edge : visible === 2 ? colours[device.category[i]] : dim;
      if (i !== this.chosen && visible === 2) colour = shade(colour, device.stack[i]);
      for (let row = top; row < bottom; row++) pixels.fill(colour, row * width + left, row * width + right);
      this.drawn++;
    }
    this.context.putImageData(image, 0, 0);
    const at = (device.x(moment) - this.from) * across;
    this.context.fillStyle = "#e11d48";
    this.context.fillRect(Math.round(at), 0, 1, height);
  }
  positions(device) {
    return device.byTime
      ? { begin: i => device.x(device.begin[i]), end: i => device.x(device.end[i]) }
      : { begin: i => device.begin[i], end: i => device.end[i] };
  }
  // The band at a point of the canvas in CSS pixels, -1 for none.
  at(device, x, y, shown) {
    const time = this.from + (this.to - this.from) * x / this.canvas.clientWidth;
    const place = this.low + (this.high - this.low) * (1 - y / this.canvas.clientHeight);
    const slack = (this.high - this.low) / this.canvas.clientHeight, xs = this.positions(device);
    let near = -1;
    for (let i = 0; i < device.count; i++) {
      if (xs.begin(i) > time || xs.end(i) <= time || !shown(i)) continue;
      if (device.y[i] <= place && place < device.y[i] + device.size[i]) return i;
      if (Math.abs(device.y[i] - place) < slack) near = i;
    }
    return near;
  }
}

function packedColour(text) {
  let hex = text.slice(1);
  if (hex.length < 6) hex = [...hex].map(digit => digit + digit).join("");
  const part = i => parseInt(hex.slice(i, i + 2), 16);
  const alpha = hex.length > 6 ? part(6) : 255;
  return ((alpha << 24) | (part(4) << 16) | (part(2) << 8) | part(0)) >>> 0;
}

// Neighbours of one category are told apart by the lightness that their stack gives them.
function shade(colour, stack) {
  const factor = 0.8 + 0.2 * ((stack * 2654435761 >>> 16) % 256) / 255;
  const part = at => Math.round((colour >>> at & 255) * factor);
  return (0xff000000 | (part(16) << 16) | (part(8) << 8) | part(0)) >>> 0;
}
