import { describe, expect, it } from 'vitest';
import { findKeyFiles, inlineKeys, originalRange } from './key-files.js';

const encode = (text: string) => new TextEncoder().encode(text);
const PEM = '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n';
const RECIPE = (items: string) => `# kept\nspec:\n  policy:\n    requireSignature:\n${items}`;

/** Every file that is named, with a key in its place. */
const filled = (text: string) =>
  inlineKeys(
    encode(text),
    findKeyFiles(encode(text)).map((file) => ({ ...file, pem: PEM })),
  );
const KEY = JSON.stringify(PEM);

describe('key files in a recipe', () => {
  it.each([
    ['plain', '    - key: banana.pub   # why\n', `    - key: ${KEY}   # why\n`],
    ['in quotes', `    - {key: 'a b.pub', groups: ["*"]}\n`, `    - {key: ${KEY}, groups: ["*"]}\n`],
    [
      'twice in a line',
      '    - {signers: [{key: a}, {key: "b"}]} # x\n',
      `    - {signers: [{key: ${KEY}}, {key: ${KEY}}]} # x\n`,
    ],
    ['on the next line', '    - key:\n        keys/a.pub\n', `    - key:\n        ${KEY}\n`],
    ['with an anchor', '    - key: &k a.pub\n    - key: *k\n', `    - key: &k ${KEY}\n    - key: *k\n`],
    ['with a tag', '    - key: !!str a.pub\n', `    - key: !!str ${KEY}\n`],
    [
      'with other line ends',
      '    - key: a.pub\r\n      groups: [x]\r\n',
      `    - key: ${KEY}\r\n      groups: [x]\r\n`,
    ],
    ['beyond other planes', '    - {x: "😀", key: a.pub}\n', `    - {x: "😀", key: ${KEY}}\n`],
    ['without an end of line', '    - key: a.pub', `    - key: ${KEY}`],
  ])('are filled in at their position: %s', (_, items, expected) => {
    expect(filled(RECIPE(items))).toBe(RECIPE(expected));
  });

  it.each([
    ['a key', `    - key: ${KEY}\n`],
    ['a block', `    - key: |\n        ${PEM.trim().replaceAll('\n', '\n        ')}\n`],
    ['a block of one line', '    - key: |\n        a.pub\n'],
    ['an alias of a list', '    - &x\n      key: "\\x61.pub"\n    - *x\n'],
    ['a name with escapes', '    - key: "\\x61.pub"\n'],
    ['several lines', '    - key: a\n        b\n'],
    ['nothing', '    - key: ""\n    - key:\n    - key: " "\n    - key: 5\n    - key: [a]\n'],
    ['another field', '    - subject: a.pub\n    - signers: {key: a.pub}\n    - signers: [key, [a]]\n'],
  ])('are not what is %s', (_, items) => {
    expect(filled(RECIPE(items))).toBe(RECIPE(items));
  });

  it.each(['', 'a: [', 'key: a', '[]', '--- {}\n---\nspec: {}\n', 'spec: {policy: {requireSignature: {}}}'])(
    'are not in %j',
    (text) => {
      expect(findKeyFiles(encode(text))).toEqual([]);
      expect(filled(text)).toBe(text);
    },
  );

  it('keep the byte order mark', () => {
    const text = `\ufeff${RECIPE('    - key: a.pub\n')}`;
    expect(filled(text)).toBe(text.replace('a.pub', KEY));
  });

  it('shift the following lines, and positions follow', () => {
    const text = RECIPE('    - {signers: [{key: a}, {key: "b.pub"}], x: 1}\n');
    const keys = findKeyFiles(encode(text)).map((file) => ({ ...file, pem: PEM }));
    const after = inlineKeys(encode(text), keys).split('\n')[4]!;
    const before = text.split('\n')[4]!;
    const place = (column: number) =>
      originalRange({ start: { line: 5, column }, end: { line: 5, column } }, keys).start.column;
    for (const mark of ['- {', '}, {', '}], x', 'x: 1', '1}']) {
      expect(place(after.indexOf(mark) + 1), mark).toBe(before.indexOf(mark) + 1);
    }
    const whole = {
      start: { line: 5, column: after.indexOf('"') + 1 },
      end: { line: 5, column: after.indexOf('"}') + 2 },
    };
    expect(originalRange(whole, keys)).toEqual(keys[0]!.range);
    const elsewhere = { start: { line: 6, column: 900 }, end: { line: 7, column: 900 } };
    expect(originalRange(elsewhere, keys)).toEqual(elsewhere);
  });
});
