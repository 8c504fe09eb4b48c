import { describe, expect, it } from 'vitest';
import { highlightCode, highlightScript, MAX_MARKS } from './highlight.js';
import { visibleText } from './visible-text.js';

/** Returns the text that a browser shows. */
function plainText(html: string): string {
  return html
    .replace(/<\/?span[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

/** Returns the highlighted words as `mark:word`. */
const listMarks = (html: string) =>
  [...html.matchAll(/<span class="code-(\w+)">([^<]*)<\/span>/g)].map(([, mark, word]) => `${mark}:${word}`);

describe('highlightScript', () => {
  it('marks comments, strings, keywords, and numbers', () => {
    const text = `# Sets a label.
load("encoding/json.star", "json")

def set(item, count = 0x1F):  # one
    if not item: return None
    x = item.name + 'a # b' + r"\\d" + b"c" + """
# text"""
    return [1.5e3, True, not_a_keyword]
`;
    const html = highlightScript(text);
    expect(plainText(html)).toBe(text);
    expect(listMarks(html)).toEqual([
      'comment:# Sets a label.',
      'keyword:load',
      'string:&quot;encoding/json.star&quot;',
      'string:&quot;json&quot;',
      'keyword:def',
      'number:0x1F',
      'comment:# one',
      'keyword:if',
      'keyword:not',
      'keyword:return',
      'number:None',
      "string:'a # b'",
      'string:r&quot;\\d&quot;',
      'string:b&quot;c&quot;',
      'string:&quot;&quot;&quot;\n# text&quot;&quot;&quot;',
      'keyword:return',
      'number:1.5e3',
      'number:True',
    ]);
  });

  it.each([
    '',
    '\n',
    '#',
    '# no line end',
    'x = 1 \\\n  + 2 # sum',
    'def f():\n  # in\n    # deep\n  pass\n\n# out\nf()',
    '\tx = 1 \\\n\ty # more',
    'x = 1\r# y',
    'x = ("a"\n  # inside\n  "b")',
    "x = 'unterminated\ny = 1 # rest",
    'x = 1\n) # wrong\nif',
    'x = "é 😀" + y',
  ])('keeps every character of %j', (text) => {
    expect(plainText(highlightScript(text))).toBe(visibleText(text));
  });

  it('escapes markup, and shows hidden characters', () => {
    const html = highlightScript(
      '# </script><script>alert(1)</script>\nx = "\u202e\u2066<b onclick=1>\u0000\u001b&amp;" # \u200b\n',
    );
    expect(html.replace(/<\/?span[^<>]*>/g, '')).not.toMatch(/[<>\u0000\u001b\u200b\u202e\u2066]/);
    expect(html).toContain('# &lt;/script&gt;&lt;script&gt;');
    expect(html).toContain('\ufffd\ufffd&lt;b onclick=1&gt;␀␛&amp;amp;');
  });

  it.each([
    ['numbers', '1,'.repeat(100_000)],
    ['comments', '#\n'.repeat(100_000)],
    ['keywords', 'not '.repeat(100_000)],
  ])('stops after so many %s', (_, text) => {
    const html = highlightScript(text);
    expect(listMarks(html)).toHaveLength(MAX_MARKS);
    expect(plainText(html)).toBe(text);
  });
});

describe('highlightCode', () => {
  it('marks keys, text in quotes, comments, constants, and properties of YAML', () => {
    const text = `# All\nkind: SetLabels # one\nlabels: {"a b": 'c', d: 1.5e3}\nscript: |\n  x: 1 # text\n- &x !!str yes\n`;
    expect(listMarks(highlightCode(text, 'yaml'))).toEqual([
      'comment:# All',
      'keyword:kind',
      'comment:# one',
      'keyword:labels',
      'keyword:&quot;a b&quot;',
      "string:'c'",
      'keyword:d',
      'number:1.5e3',
      'keyword:script',
      'string:|\n  x: 1 # text',
      'number:&amp;x',
      'number:!!str',
    ]);
    expect(listMarks(highlightCode('def f(): pass', 'python'))).toEqual(['keyword:def', 'keyword:pass']);
    expect(listMarks(highlightCode('if true; then', 'sh'))).toEqual([]);
  });

  it.each([
    '',
    'a: b\n\tc: d',
    'a: [1, {b: "c',
    '? x\n: y\n---\n...\n%YAML 1.2',
    '<script>: "</script>\u202e"',
    'a: >-\n  b\n\n  c\n# d\r\ne: *f',
    ...['[', '{a: ', '- ', '? ', '"', '#\n', 'a: &b ', '1', 'a:\n '].map((part) => part.repeat(30_000)),
  ])('keeps every character of %.30j', (text) => {
    expect(plainText(highlightCode(text, 'yaml'))).toBe(visibleText(text));
  });
});
