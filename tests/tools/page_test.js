// SPDX-License-Identifier: MIT
// usage: node page_test.js PAGE
//
// Runs the script of a page of metagroup report --html, with canvases that keep what is drawn.
// Prints a line for each text: all of the time, then after 20 steps of the wheel, then all again;
// and what is shown of the value under the pointer.
const fs = require('fs');
const vm = require('vm');

const page = fs.readFileSync(process.argv[2], 'utf8');
const script = page.match(/<script>([^]*)<\/script>/)[1];
const elements = [];
let texts = [];
let cells = 0;
const drawing = {
  setTransform() {}, strokeRect() {}, beginPath() {}, lineTo(x, y) {
    if (Number.isNaN(x + y)) throw new Error('a line to nowhere');
  }, stroke() {}, fillRect() { cells++; }, fillText(text) { texts.push(text); },
};
const element = name => ({
  name, style: {}, clientWidth: 1000, getContext: () => drawing, setPointerCapture() {},
});
const show = title => {
  console.log(`${title}: ${cells > 0 ? 'drawn' : 'empty'}; ${texts.join('; ')}`);
  texts = [];
  cells = 0;
};
vm.runInNewContext(script, {
  window: {devicePixelRatio: 1},
  document: {createElement: element, body: {appendChild: child => elements.push(child) && child}},
  requestAnimationFrame: draw => draw(),
});
show('all');
const [output, canvas] = elements;
const middle = {offsetX: 475, offsetY: 25, deltaY: -1, pointerId: 1, preventDefault() {}};
for (let i = 0; i < 20; i++) canvas.onwheel(middle);
texts = [];
canvas.onpointerdown(middle);
canvas.onpointermove({...middle, offsetX: 476});
canvas.onpointerup();
show('zoomed');
console.log(`value: ${output.textContent}`);
canvas.ondblclick();
show('again');
