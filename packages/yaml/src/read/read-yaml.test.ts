import { describe, expect, it } from 'vitest';
import { formatPath } from '../diagnostic.js';
import { readMachineYaml, readYaml, YAML_CODES, type YamlCode } from '../index.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const read = (text: string) => readYaml(bytes(text), { file: 'f.yaml' });
const readMachine = (text: string) => readMachineYaml(bytes(text), { file: 'f.yaml' });
const at = (diagnostic: { code: string; range?: { start: { line: number; column: number } } } | undefined) =>
  `${diagnostic?.code} ${diagnostic?.range?.start.line}:${diagnostic?.range?.start.column}`;

describe('values', () => {
  it.each([
    ['a: 1\nb: [x, true, null, 1.5]\n', { a: 1, b: ['x', true, null, 1.5] }],
    ['{"a": {"b": "yes", "c": [1, 2]}}', { a: { b: 'yes', c: [1, 2] } }],
    ['{\n\t"a": [\n\t\t1,\n\t\t{"b": ""}\n\t]\n}\n', { a: [1, { b: '' }] }],
    ['"\\ud83d\\ude00 \\/ \\u0041"', '😀 / A'],
    ['\ufeffa: b', { a: 'b' }],
    ['a: "yes"\n"no": \'010\'\nc: !!str 12\nd: ! on\n', { a: 'yes', no: '010', c: '12', d: 'on' }],
    ['a: &x [1, {b: 2}]\nc: *x\n', { a: [1, { b: 2 }], c: [1, { b: 2 }] }],
    ['a: |\n  one\n  two\nb: >-\n  three\n  four\n', { a: 'one\ntwo\n', b: 'three four' }],
    ['a: 0\nb: 0x1F\nc: 1e3\n', { a: 0, b: 31, c: 1000 }],
    ['constructor: 1\ntoString: 2\n', { constructor: 1, toString: 2 }],
    ['a:\r\n  b: c\r\n', { a: { b: 'c' } }],
  ])('reads %j in both ways', (text, value) => {
    const author = read(text);
    expect(author.diagnostics).toEqual([]);
    expect(author.documents.map((document) => document.value)).toEqual([value]);
    expect(readMachine(text)).toEqual({ documents: [value], diagnostics: [] });
  });

  it('skips empty documents, and counts the others', () => {
    const text = '# only a comment\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n';
    const { documents, diagnostics } = read(text);
    expect(diagnostics).toEqual([]);
    expect(documents.map(({ value, index }) => [value, index])).toEqual([
      [{ a: 1 }, 0],
      [{ b: 2 }, 1],
    ]);
    expect(readMachine(text).documents).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('keeps the documents around an invalid document', () => {
    const { documents, diagnostics } = read('a: 1\n---\nb: [1\n---\nc: 3\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { c: 3 }]);
    expect(diagnostics.map(at)).toEqual(['yaml/syntax 3:4']);
  });
});

describe('invalid YAML', () => {
  const cases: [text: string, expected: string][] = [
    ['', 'yaml/empty 1:1'],
    ['# nothing\n', 'yaml/empty 1:1'],
    ['a: 1\nb: 2\na: 3\n', 'yaml/duplicate-key 3:1'],
    ['{"a": 1, "a": 2, x: 1}', 'yaml/duplicate-key 1:10'],
    ['a: 1\n2: b\n', 'yaml/non-string-key 2:1'],
    ['true: b\n', 'yaml/non-string-key 1:1'],
    ['? [a]\n: b\n', 'yaml/non-string-key 1:3'],
    ['a: {x: 1}\nb:\n  <<: {y: 1}\n', 'yaml/merge-key 3:3'],
    ['a: !custom b\n', 'yaml/tag 1:12'],
    ['a: !!binary aGk=\n', 'yaml/tag 1:13'],
    ['a: !!set {x}\n', 'yaml/tag 1:10'],
    ['%YAML 1.1\n---\na: b\n', 'yaml/directive 1:1'],
    ['x: 1\n__proto__:\n  y: 1\n', 'yaml/prototype-key 2:1'],
    ['"__proto__": {}\n', 'yaml/prototype-key 1:1'],
    ['{"__proto__": {"polluted": 1}}', 'yaml/prototype-key 1:2'],
    ['a: *nowhere\n', 'yaml/alias 1:4'],
    ['a: &x [*x]\n', 'yaml/alias 1:8'],
    ['a: 9007199254740993\n', 'yaml/integer-precision 1:4'],
    ['a: -9007199254740993\n', 'yaml/integer-precision 1:4'],
    ['a: 1e18\n', 'yaml/integer-precision 1:4'],
    ['a: .nan\n', 'yaml/not-finite 1:4'],
    ['a: -.INF\n', 'yaml/not-finite 1:4'],
    ['sha256: 12e45678901\n', 'yaml/not-finite 1:9'],
    ['a: 1\nb: \u0000\n', 'yaml/control-character 2:4'],
    ['a: b\rc: d\n', 'yaml/control-character 1:5'],
    ['a: "x\u2028y"\n', 'yaml/control-character 1:6'],
    ['a: "open\n', 'yaml/syntax 1:4'],
    ['a:\n\tb: 1\n', 'yaml/syntax 2:1'],
    ['a: b: c\n', 'yaml/syntax 1:4'],
  ];

  it.each(cases)('rejects %j', (text, expected) => {
    const { diagnostics } = read(text);
    expect(at(diagnostics[0])).toBe(expected);
    for (const { message, hint, severity } of diagnostics) {
      expect(severity).toBe('error');
      expect(message).not.toMatch(/[\n\r]/);
      expect(message.length).toBeLessThan(120);
      expect(hint).toBeTruthy();
    }
  });

  it('reports a tab once, and other problems too', () => {
    const { diagnostics } = read('s:\n  a: 1\n\tb: 2\n  c: 3\n  d: 4\n---\ne:\n  f: 1\n g: 2\n');
    expect(diagnostics.map(at)).toEqual(['yaml/syntax 3:1', 'yaml/syntax 9:1']);
  });

  it.each(cases)('rejects %j from machines', (text, expected) => {
    const { documents, diagnostics } = readMachine(text);
    const code = expected.split(' ')[0];
    // JSON.parse keeps the last of two equal keys and says nothing; this text is not JSON.
    if (text.startsWith('{"__proto__"')) expect(diagnostics[0]?.range).toBeUndefined();
    expect(diagnostics[0]?.code).toBe(code);
    expect(documents).toEqual([]);
  });

  it('reports both positions and the path of a duplicate key', () => {
    const [diagnostic] = read('spec:\n  names:\n    kind: A\n    kind: B\n').diagnostics;
    expect(diagnostic).toMatchObject({
      message: 'duplicate key "kind", first used at 3:5',
      path: 'spec.names.kind',
      range: { start: { line: 4, column: 5 }, end: { line: 4, column: 9 } },
    });
  });

  it('never changes a prototype', () => {
    const { documents } = read('a: {__proto__: {polluted: 1}}\n');
    expect(Object.getPrototypeOf((documents[0]!.value as { a: object }).a)).toBe(Object.prototype);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('reports the position of bytes that are not UTF-8', () => {
    const broken = Uint8Array.from([...bytes('a: ü\nb: \ufffd'), 0xff, 0x0a]);
    for (const reader of [readYaml, readMachineYaml]) {
      const [diagnostic] = reader(broken, { file: 'f' }).diagnostics;
      expect(diagnostic?.message).toBe('the byte at offset 12 (line 2, column 5) is not UTF-8');
    }
    const utf16 = Uint8Array.from(Buffer.from('\ufeffa: b', 'utf16le'));
    expect(readYaml(utf16, { file: 'f' }).diagnostics[0]?.message).toBe('the file is UTF-16, not UTF-8');
  });

  it('rejects a file above the size limit without reading it', () => {
    const { diagnostics } = readYaml(bytes('a: b'), { file: 'f', limits: { maxSourceBytes: 3 } });
    expect(diagnostics.map(({ code }) => code)).toEqual(['yaml/too-large']);
  });
});

describe('plain scalars that parsers interpret differently', () => {
  it.each([
    'yes',
    'No',
    'ON',
    'off',
    'y',
    'N',
    '010',
    '-012',
    '0777',
    '08',
    '1_000',
    '1_0.5',
    '0x_F',
    '0b101',
    '-0x1F',
    '+0o7',
    '0X1F',
    '0O17',
  ])('refuses %s as value and as key', (text) => {
    expect(read(`a: ${text}\n`).diagnostics.map(at)).toEqual(['yaml/ambiguous-scalar 1:4']);
    expect(readMachine(`a: ${text}\n`).diagnostics.map(at)).toEqual(['yaml/ambiguous-scalar 1:4']);
    expect(read(`- ${text}\n`).diagnostics[0]?.path).toBe('[0]');
    expect(['yaml/ambiguous-scalar', 'yaml/non-string-key']).toContain(
      read(`${text}: a\n`).diagnostics[0]?.code,
    );
    expect(read(`a: "${text}"\nb: '${text}'\nc: |-\n  ${text}\n`).diagnostics).toEqual([]);
  });

  it.each(['0o17', '12:30:45', '190:20:30.15', '2024-01-31', '2001-12-14t21:59:43.10-05:00'])(
    'warns of %s',
    (text) => {
      for (const { diagnostics } of [read(`a: ${text}\n`), readMachine(`a: ${text}\n`)]) {
        expect(diagnostics.map(({ code, severity }) => [code, severity])).toEqual([
          ['yaml/legacy-scalar', 'warning'],
        ]);
      }
    },
  );

  it.each([
    // The beginning of a digest; no reader takes it for a number.
    '0bd8dac7435315a1',
    '0b2',
    '0',
    '0.5',
    '1.10',
    'v1',
    'yesterday',
    'none',
    'a_b',
    '1.2.3',
    '10.0.0.1',
    '9007199254740991',
    '~',
    'TRUE',
  ])('takes %s', (text) => {
    expect(read(`a: ${text}\n`).diagnostics).toEqual([]);
    expect(readMachine(`a: ${text}\n`).documents).toEqual([read(`a: ${text}\n`).documents[0]!.value]);
  });
});

describe('locate', () => {
  const text = 'spec:\n  names:\n    kind: A\n  list:\n  - x\n  - {y: 1}\n  empty:\n';
  const [document] = read(text).documents;
  const start = (path: (string | number)[], target?: 'key' | 'value') => {
    const range = document!.locate(path, target);
    return `${range?.start.line}:${range?.start.column}-${range?.end.line}:${range?.end.column}`;
  };

  it.each([
    [['spec', 'names', 'kind'], 'value', '3:11-3:12'],
    [['spec', 'names', 'kind'], 'key', '3:5-3:9'],
    [['spec', 'list', 0], 'value', '5:5-5:6'],
    [['spec', 'list', 1, 'y'], 'key', '6:6-6:7'],
    [['spec', 'names', 'plural'], 'value', '3:5-4:1'],
    [['spec', 'names', 'kind', 'deeper', 3], 'key', '3:11-3:12'],
    [['spec', 'list', 7], 'value', '5:3-7:1'],
  ] as const)('finds %j (%s)', (path, target, expected) => {
    expect(start([...path], target), formatPath(path)).toBe(expected);
  });
});

it('has a severity, a summary, and a fix for every code', () => {
  const codes = Object.keys(YAML_CODES) as YamlCode[];
  for (const code of codes) {
    expect(code).toMatch(/^yaml\/[a-z-]+$/);
    expect(YAML_CODES[code].summary).toMatch(/\.$/);
    expect(YAML_CODES[code].fix).toMatch(/\.$/);
  }
});

describe('numbers that a double cannot represent', () => {
  const cases = ['9007199254740993', '1e18', '123456789012345678901234567890'];

  it.each(cases)('rejects %s with both parsers, in YAML and in JSON', (number) => {
    for (const text of [`{"a": ${number}}`, `a: ${number}\n`]) {
      for (const read of [readYaml, readMachineYaml]) {
        const { diagnostics } = read(bytes(text), { file: 'a' });
        expect([text, diagnostics.map(({ code }) => code)]).toEqual([text, ['yaml/integer-precision']]);
      }
    }
  });

  it.each(['1e21', '3.4e38'])('%s is a floating-point number to both readers', (number) => {
    for (const text of [`{"a": ${JSON.stringify(Number(number))}}`, `a: ${number}\n`]) {
      expect(readYaml(bytes(text), { file: 'a' }).documents[0]?.value).toEqual({ a: Number(number) });
      expect(readMachineYaml(bytes(text), { file: 'a' }).documents[0]).toEqual({ a: Number(number) });
    }
  });
});

describe('a key', () => {
  const comments = '# - name: A # uncomment this line to set the variable\n'.repeat(40);
  const read = (text: string) => readYaml(new TextEncoder().encode(text), { file: 'f.yaml' });

  it.each([
    ['an empty value and a long comment', `vars:\n${comments}namePrefix: x-\n`],
    ['a long value too', `vars:\n${comments}namePrefix: ${'x'.repeat(2_000)}\n`],
    ['a mapping', `a:\n  vars:\n${comments.replace(/^/gm, '  ')}  b: 1\n`],
  ])('can follow %s', (_name, text) => {
    const { documents, diagnostics } = read(text);
    expect(diagnostics).toEqual([]);
    expect(documents).toHaveLength(1);
  });

  it.each([
    ['plain', `${'a'.repeat(1_100)}: b\n`],
    ['quoted', `"${'a: b '.repeat(300)}": b\n`],
    ['after a comment', `vars:\n${comments}${'a'.repeat(1_100)}: b\n`],
  ])('of more than 1,024 characters is an error: %s', (_name, text) => {
    expect(read(text).diagnostics.map(({ message }) => message)).toContain(
      'a key has more than 1024 characters',
    );
  });
});
