// SPDX-License-Identifier: MIT
// The style and script of the page that page_of() creates.
#pragma once

namespace tool {

constexpr const char* kPageStyle = R"(<style>
body { font-family: sans-serif; margin: 16px }
h1 { font-size: 18px }
canvas { display: block; width: 100%; margin-bottom: 24px; cursor: grab }
output { position: fixed; top: 16px; right: 16px; background: #fff }
</style>
)";

// The wheel zooms in time, dragging pans, and a double click shows everything again. The corner
// shows the values under the pointer. Scales adapt to the visible time.
constexpr const char* kPageScript = R"(
const left = 80, right = 130, top = 24, lines = 100, cpus = data.cpus.length;
const map = Math.min(320, Math.max(48, 16 * cpus)), row = map / cpus;
const lineTop = top + map + 14, height = lineTop + lines + 24;
let from = 0, to = data.steps, held = null;  // steps
const hover = document.body.appendChild(document.createElement('output'));

const short = value => {
  const power = value < 1000 ? 0 : Math.min(6, Math.floor(Math.log10(value) / 3));
  return Number((value / 1000 ** power).toPrecision(3)) + ['', 'k', 'M', 'G', 'T', 'P', 'E'][power];
};
const seconds = step => {
  const digits = Math.max(0, Math.ceil(1 - Math.log10((to - from) * data.interval)));
  return (step * data.interval).toFixed(Math.min(9, digits + 1)) + ' s';
};

// The mean of each CPU in each column of the picture; -1 if unknown.
function columnsOf(figure, count) {
  const begin = i => from + Math.floor(i * (to - from) / count);
  return Array.from({length: count}, (_, i) => data.cpus.map((_, cpu) => {
    let sum = 0, known = 0;
    for (let step = begin(i); step < begin(i + 1); step++) {
      const value = figure.values[step * cpus + cpu];
      if (value >= 0) { sum += value; known++; }
    }
    return known ? sum / known * figure.highest / data.parts : -1;
  }));
}

function draw(figure) {
  const canvas = figure.canvas, to2d = canvas.getContext('2d'), scale = window.devicePixelRatio;
  const inner = Math.max(1, Math.floor(canvas.clientWidth - left - right));
  const columns = columnsOf(figure, Math.min(inner, to - from)), width = inner / columns.length;
  const highest = Math.max(0, ...columns.map(column => Math.max(...column)));
  const part = value => highest > 0 ? value / highest : 0;
  const text = (words, x, y, align, colour = '#000') => {
    to2d.textAlign = align;
    to2d.fillStyle = colour;
    to2d.fillText(words, x, y);
  };
  canvas.width = canvas.clientWidth * scale;
  canvas.height = height * scale;
  canvas.style.height = height + 'px';
  to2d.setTransform(scale, 0, 0, scale, 0, 0);
  to2d.font = 'bold 14px sans-serif';
  text(figure.name, left, 14, 'left');
  to2d.font = '12px sans-serif';
  to2d.fillStyle = '#ddd';
  to2d.fillRect(left, top, inner, map);
  columns.forEach((column, i) => column.forEach((value, cpu) => {
    if (value < 0) return;
    to2d.fillStyle = data.shades[Math.round(part(value) * (data.shades.length - 1))];
    to2d.fillRect(left + i * width, top + cpu * row, width + 0.5, row);
  }));
  for (let cpu = 0; cpu < cpus; cpu += Math.ceil(14 / row))
    text(data.cpus[cpu], left - 6, top + (cpu + 0.5) * row + 4, 'right');
  data.shades.forEach((shade, i) => {
    to2d.fillStyle = shade;
    to2d.fillRect(left + inner + 12, top + map * (1 - (i + 1) / data.shades.length), 14,
                  map / data.shades.length + 0.5);
  });
  text(short(highest), left + inner + 32, top + 10, 'left');
  text('0', left + inner + 32, top + map, 'left');
  text(short(highest), left - 6, lineTop + 8, 'right');
  text('0', left - 6, lineTop + lines, 'right');
  to2d.strokeStyle = '#888';
  to2d.strokeRect(left, lineTop, inner, lines);
  const sorted = columns.map(column => column.filter(value => value >= 0).sort((a, b) => a - b));
  data.quantiles.forEach(([share, colour, name], i) => {
    to2d.strokeStyle = colour;
    to2d.beginPath();
    sorted.forEach((values, x) => {
      const value = values[Math.ceil(share * values.length) - 1];
      if (values.length)
        to2d.lineTo(left + (x + 0.5) * width, lineTop + lines * (1 - part(value)));
    });
    to2d.stroke();
    text(name, left + inner + 12, lineTop + 10 + 16 * i, 'left', colour);
  });
  for (let i = 0; i <= 5; i++)
    text(seconds(from + (to - from) * i / 5), left + inner * i / 5, lineTop + lines + 18, 'center');
}

function show(begin, end) {
  const size = Math.min(data.steps, Math.max(4, Math.round(end - begin)));
  from = Math.min(Math.max(0, Math.round(begin)), data.steps - size);
  to = from + size;
  requestAnimationFrame(() => data.figures.forEach(draw));
}

for (const figure of data.figures) {
  const canvas = figure.canvas = document.body.appendChild(document.createElement('canvas'));
  const step = event => from + (to - from) * (event.offsetX - left) /
      (canvas.clientWidth - left - right);
  canvas.onwheel = event => {
    const at = step(event), factor = event.deltaY < 0 ? 0.8 : 1.25;
    event.preventDefault();
    show(at + (from - at) * factor, at + (to - at) * factor);
  };
  canvas.onpointerdown = event => {
    held = step(event);
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointerup = () => { held = null; };
  canvas.onpointermove = event => {
    const at = step(event), cpu = Math.floor((event.offsetY - top) / row);
    if (held !== null) show(from + held - at, to + held - at);
    const value = figure.values[Math.floor(at) * cpus + cpu];
    const known = cpu >= 0 && cpu < cpus && value >= 0;
    hover.textContent = !known ? '' :
        `${data.cpus[cpu]}, ${seconds(at)}: ${short(value * figure.highest / data.parts)}`;
  };
  canvas.ondblclick = () => show(0, data.steps);
}
window.onresize = () => show(from, to);
show(from, to);
)";

}  // namespace tool
