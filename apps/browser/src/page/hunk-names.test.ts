import { lineDiff } from '@krmhub/functions/output/line-diff';
import { expect, it } from 'vitest';
import { nameHunks } from './hunk-names.js';

/** A Deployment whose replicas are far from its name. */
function deployment(name: string, replicas: number, indent = ''): string {
  const labels = Array.from({ length: 12 }, (_, at) => `    label-${at}: x`);
  const lines = [
    'apiVersion: apps/v1',
    'kind: Deployment # of the shop',
    'metadata:',
    '  labels:',
    ...labels,
    `  name: "${name}"`,
    'spec:',
    '  template:',
    '    spec:',
    '      containers:',
    '      - name: nginx',
    '        image: nginx',
    '  minReadySeconds: 1',
    `  replicas: ${replicas}`,
    '',
  ];
  return lines
    .map((line, at) => (line === '' ? '' : indent + (at > 0 && indent !== '' ? '  ' : '') + line))
    .join('\n');
}
const list = (first: number, second: number) =>
  `apiVersion: v1\nkind: List\nitems:\n${deployment('web', first, '- ').replaceAll('\n- ', '\n')}${deployment('api', second, '- ').replaceAll('\n- ', '\n')}`;

const headers = (before: string, after: string) =>
  nameHunks(lineDiff(before, after), before, after).filter((line) => line.startsWith('@@'));

it.each([
  ['documents', (a: number, b: number) => `${deployment('web', a)}---\n${deployment('api', b)}`],
  ['items of a list', list],
])('names the resource of each hunk: %s', (_, text) => {
  expect(headers(text(1, 1), text(2, 3))).toEqual([
    expect.stringMatching(/^@@ -\d+,\d+ \+\d+,\d+ @@ Deployment web$/),
    expect.stringMatching(/^@@ -\d+,\d+ \+\d+,\d+ @@ Deployment api$/),
  ]);
});

it('names what was removed or added by the text that has it, and the first three of many', () => {
  const one = 'kind: ConfigMap\nmetadata:\n  name: one\n';
  const two = 'kind: Secret\nmetadata:\n  name: two\n';
  expect(headers(`${one}---\n${two}`, one)[0]).toMatch(/ @@ Secret two$/);
  expect(headers(one, `${one}---\n${two}`)[0]).toMatch(/ @@ Secret two$/);
  const many = Array.from({ length: 5 }, (_, at) => `kind: A\nmetadata:\n  name: n${at}\n`).join('---\n');
  expect(headers(many, many.replaceAll('kind: A', 'kind: B'))[0]).toMatch(
    / @@ (?:A n0, B n0, A n1|A n0, .*), …$/,
  );
});

it('leaves a hunk without a name that it cannot find, and every other line as it is', () => {
  const [before, after] = ['{kind: A, metadata: {name: x}}\n', '{kind: B, metadata: {name: x}}\n'];
  expect(nameHunks(lineDiff(before, after), before, after)).toEqual(lineDiff(before, after));
  const long = `kind: ${'K'.repeat(5_000)}\nmetadata:\n  name: x\nx: 1\n`;
  expect(headers(long, long.replace('x: 1', 'x: 2'))[0]!.length).toBeLessThan(200);
});
