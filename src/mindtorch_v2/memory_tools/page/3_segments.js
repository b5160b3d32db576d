// The segments at one moment: a row each (long ones in several), what is used in colour and what is stranded hatched.
class SegmentMap {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.boxes = [];
  }
  draw(device, event, shown) {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, width * ratio), this.canvas.height = Math.max(1, height * ratio);
    const context = this.context;
    context.scale(ratio, ratio);
    const segments = device.segmentsAt(event), live = device.liveAt(event).sort((a, b) => device.y[a] - device.y[b]);
    const total = segments.reduce((sum, s) => sum + device.segment_size[s], 0) || 1;
    const rows = Math.max(1, Math.min(Math.floor(height / 14), Math.max(segments.length, 12)));
    const perRow = Math.ceil(total / rows), rowHeight = height / rows;  // whole, so that parts add up
    this.boxes = [];
    const summary = { segments: segments.length, free: 0, stranded: 0, pinned: 0, total };
    const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
    let at = 0, next = 0;
    const box = (start, size, colour, what) => {
      while (size > 0) {
        const row = Math.min(rows - 1, Math.floor(start / perRow)), room = (row + 1) * perRow - start;
        const part = row === rows - 1 ? size : Math.min(size, room);
        const x = (start - row * perRow) / perRow * width, w = Math.max(part / perRow * width, 0.5);
        context.fillStyle = colour;
        context.fillRect(x, row * rowHeight + 1, w, rowHeight - 3);
        if (what >= 0) this.boxes.push([x, row * rowHeight, x + w, (row + 1) * rowHeight, what]);
        start += part, size -= part;
      }
    };
    for (const segment of segments) {
      const size = device.segment_size[segment], from = device.segment_y[segment];
      box(at, size, line, -1);
      let used = 0;
      while (next < live.length && device.y[live[next]] < from) next++;
      while (next < live.length && device.y[live[next]] < from + size) {
        const block = live[next++];
        const visible = shown(block);
        box(at + device.y[block] - from, device.size[block], visible === 2 ? COLOURS[device.category[block]] : "#8886", block);
        used += device.size[block];
      }
      summary.free += Math.max(0, size - used);
      if (used > 0 && used < size) summary.stranded += size - used, summary.pinned++;
      at += size;
      const row = Math.min(rows - 1, Math.floor(at / perRow));
      context.fillStyle = "#e11d48";
      context.fillRect((at - row * perRow) / perRow * width - 0.5, row * rowHeight, 1, rowHeight - 1);
    }
    return summary;
  }
  at(x, y) {
    const found = this.boxes.find(([left, top, right, bottom]) => x >= left && x <= right && y >= top && y < bottom);
    return found ? found[4] : -1;
  }
}
