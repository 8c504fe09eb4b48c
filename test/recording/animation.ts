/** A command and what it wrote, as they are shown together. */
export interface Scene {
  command: string;
  /** Lines of the output. */
  output: readonly string[];
}

const WIDTH = 820;
const LINE = 20;
const TOP = 56;
const LEFT = 24;
/** Seconds for each typed character, until the output, and for each line of it. */
const PACE = { character: 0.035, answer: 0.5, line: 0.22, least: 2 };

/**
 * Draws the scenes of a terminal one after the other, in a loop, as SVG with animations of CSS, which also run in an
 * image of a page. Readers who want no motion see the last scene.
 */
export function animation(scenes: readonly Scene[], label: string): string {
  const times = scenes.map(
    ({ command, output }) =>
      command.length * PACE.character + PACE.answer + Math.max(PACE.least, output.length * PACE.line),
  );
  const total = times.reduce((sum, time) => sum + time, 0);
  const rows = Math.max(...scenes.map(({ command, output }) => command.split('\n').length + output.length));
  const height = TOP + rows * LINE + 16;
  const share = (seconds: number) => `${((seconds / total) * 100).toFixed(2)}%`;
  const rules: string[] = [];
  const groups = scenes.map(({ command, output }, at) => {
    const from = times.slice(0, at).reduce((sum, time) => sum + time, 0);
    const answered = from + command.length * PACE.character + PACE.answer;
    const until = from + times[at]!;
    const lines = command.split('\n');
    rules.push(
      shown(`scene${at}`, share(from), share(until)),
      shown(`answer${at}`, share(answered), share(until)),
    );
    const typed = lines.map((text, row) => line(row === 0 ? `$ ${text}` : `  ${text}`, row, 'typed'));
    const answer = output.map((text, row) => line(text, lines.length + row, colorOf(text)));
    const last = at === scenes.length - 1 ? ' last' : '';
    return `<g class="scene scene${at}${last}">${typed.join('')}<g class="scene answer${at}${last}">${answer.join('')}</g></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(label)}">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre; }
.typed { fill: #ffffff; font-weight: 600; } .added { fill: #8fd08f; } .removed { fill: #f0908c; } .place { fill: #7fc1e8; } .passed { fill: #8fd08f; }
.scene { visibility: hidden; animation-duration: ${total.toFixed(2)}s; animation-iteration-count: infinite; animation-timing-function: step-end; }
${rules.join('\n')}
@media (prefers-reduced-motion: reduce) { .scene { animation: none; } .last { visibility: visible; } }
</style>
<rect width="${WIDTH}" height="${height}" rx="8" fill="#1c2330"/>
<g fill="#55607a"><circle cx="26" cy="24" r="6"/><circle cx="46" cy="24" r="6"/><circle cx="66" cy="24" r="6"/></g>
${groups.join('\n')}
</svg>
`;
}

/** The rule that shows a group between two shares of the loop. */
function shown(name: string, from: string, until: string): string {
  const start = from === '0.00%' ? '' : '0% { visibility: hidden; } ';
  const end = until === '100.00%' ? '' : ` ${until} { visibility: hidden; }`;
  return `.${name} { animation-name: ${name}; } @keyframes ${name} { ${start}${from} { visibility: visible; }${end} 100% { visibility: hidden; } }`;
}

function line(text: string, row: number, style: string | undefined): string {
  if (text === '') return '';
  const name = style === undefined ? '' : ` class="${style}"`;
  return `<text${name} x="${LEFT}" y="${TOP + row * LINE}" xml:space="preserve">${escaped(text)}</text>`;
}

function colorOf(text: string): string | undefined {
  if (/^(?:---|\+\+\+|@@)/.test(text)) return 'place';
  if (text.startsWith('+')) return 'added';
  if (text.startsWith('-')) return 'removed';
  return text.startsWith('[PASS]') ? 'passed' : undefined;
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
