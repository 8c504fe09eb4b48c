import { describe, expect, it } from 'vitest';
import { fromJson, readResources, toJson } from '../resources.js';
import { editValues } from '../testing/edit-text.js';
import { editFile } from './edit-file.js';

/** Text for kyaml. */
const WORDS = ['y', 'N', 'yes', 'No', 'on', 'OFF', '1:30', '-1_0:30.5', '.5_0', '='];
const OTHERS = ['0o17', '0b1_0', '1_000', '2001-12-14 21:59:43.10 -5', '2001-1-1', '2001-12-14t1:02:03z'];
const TEXTS = [
  'yes please',
  '1.2.3',
  '10.0.0.1',
  '1:99',
  'a:30',
  '-f',
  '+',
  '.',
  '1.2-rc',
  '0x',
  '2001-1',
  'one',
];

function written(text: string, output: string): string {
  const documents = readResources(text, '').map((before) => ({
    before,
    after: readResources(output, '')[before.index]!.node,
  }));
  const { text: edited, notes } = editFile({ text, documents });
  expect(notes).toEqual([]);
  return edited;
}

describe('text that readers of YAML 1.1 take for something else', () => {
  it.each([...WORDS, ...OTHERS, '<<'])('gets quotes where it is new: %s', (word) => {
    const edited = editValues('a: x\nl:\n- z\nf: {k: v}\n', () => ({
      a: word,
      l: ['z', word],
      f: { k: 'v', m: word },
      [word]: { [word]: word },
    }));
    const q = JSON.stringify(word);
    expect(edited.text).toBe(`a: ${q}\nl:\n- z\n- ${q}\nf: {k: v, m: ${q}}\n${q}:\n  ${q}: ${q}\n`);
    expect(edited.notes).toEqual([]);
  });

  it.each(TEXTS)('is not %s', (text) => {
    expect(editValues('a: x\n', () => ({ a: text, b: text })).text).toBe(`a: ${text}\nb: ${text}\n`);
  });

  it.each(WORDS)('keeps its bytes if it stays without quotes: %s', (word) => {
    const text = `a:   ${word}\n${word}: [ ${word} ]\n`;
    expect(editValues(text, (value) => value).text).toBe(text);
    expect(written(text, `${word}: [${word}]\na: ${word}\n`)).toBe(text);
    // A program that writes JSON quotes all text.
    expect(written(text, JSON.stringify({ a: word, [word]: [word] }))).toBe(text);
    const [before] = readResources(text, '');
    const after = fromJson({ a: word, [word]: [word] });
    for (const node of after.content) if (node.kind === 'scalar') node.style = 2;
    expect(editFile({ text, documents: [{ before: before!, after }] }).text).toBe(text);
  });

  it.each(WORDS)('keeps its quotes: %s', (word) => {
    const text = `a: '${word}' # c\n"${word}":\n- "${word}" # d\n- x\n`;
    expect(written(text, `a: ${word}\n${word}:\n- ${word}\n- x\n`)).toBe(text);
    expect(written(text, `a: "${word}"\n'${word}':\n- '${word}'\n- x\n`)).toBe(text);
  });

  it.each(WORDS)('gets the quotes that a function adds: %s', (word) => {
    const text = `a:   ${word} # c\n# above\n${word}: [ ${word}, z ]\nb: &b ${word}\nc: *b\n`;
    const output = `a: '${word}'\n"${word}": ["${word}", z]\nb: "${word}"\nc: "${word}"\n`;
    expect(written(text, output)).toBe(
      `a:   '${word}' # c\n# above\n"${word}": [ "${word}", z ]\nb: &b "${word}"\nc: *b\n`,
    );
    expect(written(`${word}:\n  x: 1 # c\n`, `"${word}":\n  x: 1\n`)).toBe(`"${word}":\n  x: 1 # c\n`);
  });

  it('is text for kyaml: another value of a function is a change', () => {
    expect(written('a: yes # c\n', 'a: true\n')).toBe('a: true # c\n');
    expect(written('a: no # c\n', 'a: yes\n')).toBe('a: "yes" # c\n');
  });
});

describe('characters that readers take for line breaks, or do not read', () => {
  it.each(['\x85', '\u2028', '\u2029'])('are escaped: %j', (char) => {
    const value = `l1${char}l2`;
    for (const text of ['a: x\n', "a: 'x'\n", 'a: "x"\n', 'a: |\n  x\n', 'a: >-\n  x\n', 'a: [x]\n']) {
      const is = text.includes('[') ? [value] : value;
      const edited = editValues(text, () => ({ a: is, b: value, [value]: 1 }));
      expect(edited.notes).toEqual([]);
      expect(edited.text).not.toContain(char);
      expect(toJson(readResources(edited.text, '')[0]!.node)).toEqual({ a: is, b: value, [value]: 1 });
    }
  });

  it.each(['\x7f', '\x9f', '\u2028', '\ufeff', '\uffff'])('are escaped in JSON: %j', (char) => {
    const text = '{\n  "a": "x",\n  "b": [1]\n}\n';
    const edited = editValues(text, () => ({ a: char, b: [1], [char]: { [char]: char } }));
    const code = `"\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}"`;
    expect(edited).toEqual({
      text: `{\n  "a": ${code},\n  "b": [1],\n  ${code}: {\n    ${code}: ${code}\n  }\n}\n`,
      notes: [],
    });
  });
});
