import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../diagnostic.js';
import { readMachineYaml, readYaml } from '../index.js';
import { Random } from '../testing/random.js';

const bytes = (text: string) => new TextEncoder().encode(text);

/** Hostile input has a tenth of its size here, and all of it in `npm run test:campaign`. */
const scaled = (size: number) => (process.env.KRMHUB_TEST_FULL_SIZE === undefined ? size / 10 : size);

/** Both readers must end soon and must not throw; gives the codes that they tell. */
function readBoth(text: string, milliseconds: number): { author: Set<string>; machine: Set<string> } {
  const codes = ({ diagnostics }: { diagnostics: Diagnostic[] }) =>
    new Set(diagnostics.map(({ code }) => code));
  const begin = process.cpuUsage();
  const author = codes(readYaml(bytes(text), { file: 'f' }));
  const machine = codes(readMachineYaml(bytes(text), { file: 'f' }));
  expect(process.cpuUsage(begin).user).toBeLessThan(milliseconds * 5_000);
  return { author, machine };
}

describe('depth', () => {
  it.each([
    ['flow lists', (n: number) => '['.repeat(n) + ']'.repeat(n)],
    ['flow mappings', (n: number) => '{a: '.repeat(n) + '}'.repeat(n)],
    ['open flow lists', (n: number) => '['.repeat(n)],
    ['block lists', (n: number) => `${'- '.repeat(n)}a`],
    ['explicit keys', (n: number) => '? '.repeat(n)],
    ['block mappings', (n: number) => Array.from({ length: n }, (_, i) => `${' '.repeat(i)}a:\n`).join('')],
    ['flow pairs', (n: number) => '[a: '.repeat(n) + ']'.repeat(n)],
  ])('refuses deep %s, however often', (_, make) => {
    for (let round = 0; round < 3; round++) {
      for (const depth of [100, 500, 1_000]) {
        const { author, machine } = readBoth(make(depth), 1_000);
        expect(author).toContain('yaml/too-deep');
        expect([...machine].some((code) => code === 'yaml/too-deep' || code === 'yaml/syntax')).toBe(true);
      }
    }
    expect(readBoth(make(2_000).slice(0, 1_000_000), 2_000).author).toContain('yaml/too-deep');
  });

  it('accepts 64 levels and rejects 65, as YAML and as JSON', () => {
    for (const make of [
      (n: number) => '['.repeat(n) + ']'.repeat(n),
      (n: number) => `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`,
    ]) {
      expect(readBoth(make(64), 500)).toEqual({ author: new Set(), machine: new Set() });
      expect(readBoth(make(65), 500)).toEqual({
        author: new Set(['yaml/too-deep']),
        machine: new Set(['yaml/too-deep']),
      });
    }
    expect(readBoth(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 2_000).machine).toContain(
      'yaml/too-deep',
    );
  });
});

describe('comments and blank lines', () => {
  const lines = scaled(500_000);
  it.each([
    ['before a document', `${'#\n'.repeat(lines)}a:\n  b: 1\n`],
    ['between keys', `a:\n${'#\n'.repeat(lines)}  b: 1\n`],
    ['indented, between keys', `a:\n${'    # x\n'.repeat(lines)}  b: 1\n`],
    ['after a document', `a:\n  b: 1\n${'#\r\n'.repeat(lines)}`],
    ['in a flow mapping', `a: {\n${' #\n'.repeat(lines)} b: 1}\n`],
    ['that are blank', `a:\n${'\n'.repeat(lines)}  b: 1\n`],
  ])('%s do not change values and positions', (_, text) => {
    const { documents, diagnostics } = readYaml(bytes(text), { file: 'f' });
    expect(diagnostics).toEqual([]);
    expect(documents.map(({ value }) => value)).toEqual([{ a: { b: 1 } }]);
    const before = text.slice(0, text.indexOf('b: 1')).split('\n');
    expect(documents[0]!.locate(['a', 'b'], 'key')?.start).toEqual({
      line: before.length,
      column: before.at(-1)!.length + 1,
    });
  });

  it('do not hide the following document', () => {
    expect(
      readYaml(bytes('a: |\n  # text\n\n  # more\n#c\nb: "x\n\n  # y"\n'), { file: 'f' }).documents[0]!.value,
    ).toEqual({
      a: '# text\n\n# more\n',
      b: 'x\n# y',
    });
  });
});

describe('size', () => {
  it.each([
    ['block', Array.from({ length: 20_000 }, (_, i) => `key${i}: ${i}\n`).join('')],
    ['flow', `{${Array.from({ length: 20_000 }, (_, i) => `key${i}: ${i}`).join(', ')}}`],
    ['JSON', JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key${i}`, i])))],
    ['explicit', Array.from({ length: 20_000 }, (_, i) => `? key${i}\n: ${i}\n`).join('')],
  ])('refuses a %s mapping of 20,000 keys soon', (_, text) => {
    const { author, machine } = readBoth(text, 1_500);
    expect(author).toEqual(new Set(['yaml/too-many-keys']));
    expect(machine).toEqual(new Set(['yaml/too-many-keys']));
  });

  it('accepts 2,000 keys and rejects 2,001', () => {
    const make = (count: number) => Array.from({ length: count }, (_, i) => `key${i}: ${i}\n`).join('');
    expect(readBoth(make(2_000), 1_000)).toEqual({ author: new Set(), machine: new Set() });
    expect(readBoth(make(2_001), 1_000).author).toEqual(new Set(['yaml/too-many-keys']));
    expect(readBoth(make(2_001), 1_000).machine).toEqual(new Set(['yaml/too-many-keys']));
  });

  it.each([
    ['plain', `a: ${'x'.repeat(scaled(1_000_000))}`],
    ['quoted', `a: "${'x \\n'.repeat(scaled(250_000))}"`],
    ['of many lines', `a: |\n${'  line\n'.repeat(scaled(140_000))}`],
    ['folded', `a: >\n${'  line\n\n'.repeat(scaled(120_000))}`],
    ['of spaces', `a: "x${' '.repeat(scaled(1_000_000))}y"`],
    ['of lines of spaces', `a: "x${' \n'.repeat(scaled(500_000))} y"`],
  ])('reads one scalar of a megabyte, %s', (_, text) => {
    expect(readBoth(text, 3_000)).toEqual({ author: new Set(), machine: new Set() });
  });

  it.each([
    '[,',
    ',',
    ']',
    '&a ',
    '*a ',
    '!t ',
    '"" ',
    'a: |,',
    '{a',
    '- [',
    '%x\n',
    '---\n',
    '... \n',
    '- yes\n',
    '#\n',
    '\n',
    '? ',
    ': ',
    'a\n',
  ])('ends soon on 400 KB of %j, with a bounded number of diagnostics', (part) => {
    const text = `[${part.repeat(Math.ceil(scaled(400_000) / part.length))}`;
    for (const hostile of [text, text.slice(1), `a: |\n ${text.slice(1)}`]) {
      readBoth(hostile, 3_000);
      expect(readYaml(bytes(hostile), { file: 'f' }).diagnostics.length).toBeLessThanOrEqual(201);
    }
  });

  it('stops at the first errors of a file of 4 MB', () => {
    readBoth(`[${',,'.repeat(scaled(2_000_000))}`, 12_000);
    readBoth(`a: |${',,'.repeat(scaled(2_000_000))}`, 12_000);
  });

  it('counts the problems that it does not list', () => {
    const { diagnostics } = readYaml(bytes('- yes\n'.repeat(500)), { file: 'f' });
    expect(diagnostics).toHaveLength(201);
    expect(diagnostics.at(-1)).toMatchObject({
      code: 'yaml/too-many-problems',
      message: '300 more problems are not listed',
    });
  });

  it('rejects more documents than the limit', () => {
    const { author, machine } = readBoth('--- a\n'.repeat(1_001), 1_000);
    expect(author).toEqual(new Set(['yaml/too-many-documents']));
    expect(machine).toEqual(new Set(['yaml/too-many-documents']));
  });
});

describe('aliases', () => {
  const names = 'abcdefghi';
  const laughs = [...names]
    .map(
      (name, i) =>
        `${name}: &${name} [${
          i === 0
            ? 'lol'
            : Array(9)
                .fill(`*${names[i - 1]}`)
                .join(', ')
        }]\n`,
    )
    .join('');

  it('rejects a billion laughs', () => {
    const { author, machine } = readBoth(laughs, 500);
    expect(author).toContain('yaml/too-many-aliases');
    expect(machine).toContain('yaml/too-many-aliases');
  });

  it('counts the values that aliases expand to', () => {
    const make = (count: number) => `a: &a [1, 2, 3, 4]\nb: [${Array(count).fill('*a').join(', ')}]\n`;
    expect(readBoth(make(20), 500)).toEqual({ author: new Set(), machine: new Set() });
    expect(readBoth(make(21), 500)).toEqual({
      author: new Set(['yaml/too-many-aliases']),
      machine: new Set(['yaml/too-many-aliases']),
    });
  });
});

describe('random bytes', () => {
  const parts = [
    'a',
    'b: ',
    '- ',
    '? ',
    ': ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '\n',
    '  ',
    '\t',
    '#',
    '&a ',
    '*a',
    '!t ',
    '!!int ',
    '|\n',
    '>-\n',
    '---\n',
    '...\n',
    '%A\n',
    '<<: ',
    '\\',
    '1_0',
    'yes',
    '\r\n',
    '@',
    '`',
    'é',
  ];

  it('never throws, and returns JSON values with positions', () => {
    const random = new Random(20_240_131);
    for (let round = 0; round < 4_000; round++) {
      const length = 1 + random.below(30);
      const text = Array.from({ length }, () => random.pick(parts)).join('');
      const input = round % 4 === 0 ? Uint8Array.from({ length }, () => random.below(256)) : bytes(text);
      const author = readYaml(input, { file: 'f' });
      const machine = readMachineYaml(input, { file: 'f' });
      for (const { value } of author.documents) expect(JSON.parse(JSON.stringify(value))).toEqual(value);
      for (const { range } of author.diagnostics) if (range) expect(range.start.line).toBeGreaterThan(0);
      const clean = ({ diagnostics }: { diagnostics: Diagnostic[] }) => diagnostics.length === 0;
      // Where both find nothing to say, they must have read the same.
      if (clean(author) && clean(machine)) {
        expect(machine.documents, JSON.stringify(text)).toEqual(author.documents.map(({ value }) => value));
      }
    }
  });
});
