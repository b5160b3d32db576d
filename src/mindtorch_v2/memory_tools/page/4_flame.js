// Live bytes at one moment by stack: the outermost call on top, its parts below it.
class Flame {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.path = [];  // the frames that are zoomed into
    this.boxes = [];
  }
  tree(device, event, shown) {
    const root = { name: "all", bytes: 0, parts: new Map() };
    for (const block of device.liveAt(event)) {
      if (shown(block) !== 2) continue;
      let node = root;
      node.bytes += device.size[block];
      for (const frame of [...about.stacks[device.stack[block]]].reverse()) {
        if (!node.parts.has(frame)) node.parts.set(frame, { frame, bytes: 0, parts: new Map() });
        node = node.parts.get(frame);
        node.bytes += device.size[block];
      }
    }
    return root;
  }
  draw(device, event, shown) {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, width * ratio), this.canvas.height = Math.max(1, height * ratio);
    const context = this.context, rowHeight = 16;
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    let node = this.tree(device, event, shown);
    this.total = node.bytes;
    for (const frame of this.path) node = node.parts.get(frame) ?? node;
    this.boxes = [];
    const put = (node, left, right, depth, path) => {
      if (right - left < 0.5 || depth * rowHeight > height) return;
      const [file, line, name] = node.frame === undefined ? ["", 0, "all"] : about.frames[node.frame];
      const hue = 20 + (node.frame ?? 0) * 47 % 40;
      context.fillStyle = `hsl(${hue} 70% ${document.documentElement.classList.contains("dark") ? 38 : 72}%)`;
      context.fillRect(left, depth * rowHeight, Math.max(right - left - 0.5, 0.5), rowHeight - 1);
      if (right - left > 30) {
        context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
        const text = file ? `${name} (${file.split("/").pop()}:${line})` : name;
        context.fillText(text.slice(0, Math.floor((right - left) / 6)), left + 3, depth * rowHeight + rowHeight / 2);
      }
      this.boxes.push([left, depth * rowHeight, right, (depth + 1) * rowHeight, path, node]);
      let at = left;
      for (const part of [...node.parts.values()].sort((a, b) => b.bytes - a.bytes)) {
        const wide = (right - left) * part.bytes / node.bytes;
        put(part, at, at + wide, depth + 1, [...path, part.frame]);
        at += wide;
      }
    };
    put(node, 0, width, 0, [...this.path]);
  }
  at(x, y) {
    return this.boxes.find(([left, top, right, bottom]) => x >= left && x < right && y >= top && y < bottom);
  }
  text([, , , , , node]) {
    const [file, line, name] = node.frame === undefined ? ["", 0, "all"] : about.frames[node.frame];
    return `${name}${file ? ` (${file}:${line})` : ""}: ${sizeText(node.bytes)}, ` +
      `${(100 * node.bytes / (this.total || 1)).toFixed(1)} %`;
  }
}
