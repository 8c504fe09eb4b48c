import { type FunctionDefinition, readCatalog, type Snapshot, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { renderCatalog, renderEntry } from '../../render/render.js';
import { renderSnapshot } from '../../snapshot/render-snapshot.js';
import { NASTY_STRINGS } from '../../testing/nasty-strings.js';
import { functionDefinition, functionVersion } from '../../testing/records.js';
import { MAX_ENTRY_BYTES } from './entry-limits.js';
import { normalizeCatalog } from './normalize-catalog.js';
import { readEntryBytes } from './read-entry.js';
import { splitEntries } from './split-entries.js';
import { unnamedEntry, unnamedPosition } from './unnamed-entry.js';

const RENDITIONS = [
  'catalog.yaml',
  'catalog.json',
  'krmfunctioncatalog.yaml',
  'krmfunctioncatalog.json',
] as const;

function rendered(
  rendition: (typeof RENDITIONS)[number],
  definitions: readonly FunctionDefinition[],
): Uint8Array {
  const header = { name: 'platform', labels: { team: 'a: b', 'with space': '- x' } };
  return Buffer.from([...renderCatalog(rendition, header, definitions.map(renderEntry))].join(''));
}

/** What an index makes of a document: each entry read by itself. */
function readSplit(bytes: Uint8Array) {
  const split = splitEntries(bytes);
  return split?.entries.map(({ group, kind, offset, length }) => ({
    group,
    kind,
    read: readEntryBytes(bytes.subarray(offset, offset + length), split.form, 'test'),
  }));
}

/** Two catalogs in one: a text with lines that look like entries, and lines that end a block. */
const LOOKALIKES = [
  '  - group: evil.example.com\n    names:\n      kind: Evil\n',
  '\n  - group: evil.example.com\n    names:\n      kind: Evil',
  'a\n  - group: b\nspec:\n  krmFunctions:\n',
  ']}}\n{"group":"evil.example.com","names":{"kind":"Evil"}}',
  '"]}}',
  '# comment\n---\n...\n',
];

const nasty = [...NASTY_STRINGS, ...LOOKALIKES].map((text, at) =>
  functionDefinition({
    group: `g${at % 7}.example.com`,
    names: { kind: `Kind${at}` },
    description: text,
    versions: [
      functionVersion('v1', {
        schema: {
          openAPIV3Schema: { type: 'object', description: text, properties: { [text]: { type: 'string' } } },
        },
      }),
    ],
  }),
);
/** Strings that no YAML can hold are not in catalogs. */
const writable = nasty.filter((definition) => {
  try {
    renderEntry(definition);
    return true;
  } catch {
    return false;
  }
});

describe('splitEntries', () => {
  it.each(RENDITIONS)('finds in %s the entries that a parser reads, with any texts', (rendition) => {
    expect(writable.length).toBeGreaterThan(100);
    // One by one, because some texts are not valid YAML, and would make the whole document invalid.
    const read = writable.map((definition) => {
      const whole = readCatalog(rendered(rendition, [definition]), 'test', { defaults: {} });
      return 'entries' in whole ? whole.entries[0] : whole;
    });
    expect(read.filter((one) => one !== undefined && 'definition' in one).length).toBeGreaterThan(100);
    expect(readSplit(rendered(rendition, writable))).toEqual(
      writable.map(({ group, names }, at) => ({ group, kind: names.kind, read: read[at] })),
    );
  });

  it('finds the lines of snapshot.json', () => {
    const digest = sha256('');
    const snapshot = {
      catalog: 'platform',
      serial: 7,
      previous: digest,
      digests: Object.fromEntries(RENDITIONS.map((name) => [name, digest])) as Snapshot['digests'],
      functions: 2,
      createdAt: '2030-01-02T03:04:05Z',
    };
    const row = (group: string, kind: string) => ({
      group,
      kind,
      versions: [{ name: 'v1', source: 'ours', release: '1.0.0', definition: digest }],
      shadowed: [],
      yanked: [],
    });
    const bytes = Buffer.from(
      renderSnapshot(snapshot, [row('b.example.com', 'B'), row('a.example.com', 'A')]),
    );
    const split = splitEntries(bytes)!;
    const lines = split.entries.map(({ offset, length }) =>
      JSON.parse(bytes.toString('utf8', offset, offset + length)),
    );
    expect(lines).toEqual((JSON.parse(bytes.toString()) as Snapshot).entries);
    expect(split.entries.map(({ group, kind }) => `${group}/${kind}`)).toEqual([
      'a.example.com/A',
      'b.example.com/B',
    ]);
  });

  const canonical = Buffer.from(rendered('catalog.yaml', [functionDefinition()])).toString();
  const json = Buffer.from(rendered('catalog.json', [functionDefinition()])).toString();
  it.each([
    ['an empty file', ''],
    ['no entries', canonical.slice(0, canonical.indexOf('  - group'))],
    ['an empty list', canonical.replace(/krmFunctions:[\s\S]*/, 'krmFunctions: []\n')],
    ['a comment before', `# hand-written\n${canonical}`],
    ['a comment beside a name', canonical.replace('kind: SetLabels\n', 'kind: SetLabels # ours\n')],
    ['a key more in the document', `${canonical}status: {}\n`],
    ['a second document', `${canonical}---\n${canonical}`],
    [
      'names in another order',
      canonical.replace(
        / {2}- group: (.*)\n {4}names:\n {6}kind: (.*)\n/,
        '  - names:\n      kind: $2\n    group: $1\n',
      ),
    ],
    ['less indentation', canonical.replace('    description:', '   description:')],
    ['a tab', canonical.replace('    description:', '   \tdescription:')],
    ['a name that is none', canonical.replace('group: example.com', 'group: EXAMPLE')],
    ['no last line end', canonical.slice(0, -1)],
    ['CRLF', canonical.replaceAll('\n', '\r\n')],
    ['a mapping in one line', canonical.replace(/kind: SetLabels\n/, 'kind: {a: b}\n')],
    ['JSON with a key after the list', json.replace(']}}', '],"x":1}}')],
    ['JSON in several lines', JSON.stringify(JSON.parse(json), undefined, 2)],
    ['JSON that ends early', json.slice(0, -5)],
    ['JSON with more after it', `${json}${json}`],
  ])('leaves %s to a parser', (_, text) => {
    expect(splitEntries(Buffer.from(text))).toBeUndefined();
  });

  it.each(RENDITIONS)('stops in %s after as many entries as are allowed', (rendition) => {
    const definitions = ['A', 'B', 'C'].map((kind) => functionDefinition({ names: { kind } }));
    const bytes = rendered(rendition, definitions);
    expect(splitEntries(bytes, { maxEntries: 3 })).toEqual(splitEntries(bytes));
    const some = splitEntries(bytes, { maxEntries: 2 });
    expect(some).toMatchObject({ hasMore: true, entries: [{ kind: 'A' }, { kind: 'B' }] });
    expect(some!.entries).toEqual(splitEntries(bytes)!.entries.slice(0, 2));
  });

  it('is linear in the size of hostile text', () => {
    for (const line of ['  - group: a\n', '    \n', ' ', '\n', '  - ', '{"group":"', '"']) {
      const head = canonical.slice(0, canonical.indexOf('  - group'));
      expect(splitEntries(Buffer.from(head + line.repeat(1_000_000)))).toBeUndefined();
    }
  });
});

describe('readEntryBytes', () => {
  it('completes what KEP-2906 lets entries leave out', () => {
    const entry =
      '  - group: example.com\n    names: {kind: A}\n    versions: [{name: v1}]\n    runtime: {container: {image: java}}\n';
    expect(readEntryBytes(Buffer.from(entry), 'yaml', 'test')).toMatchObject({
      definition: { versions: [{ runtime: { container: { image: 'docker.io/library/java' } } }] },
    });
  });

  it.each([
    ['too large', Buffer.alloc(MAX_ENTRY_BYTES + 1, 0x20), `it has ${MAX_ENTRY_BYTES + 1} bytes`],
    ['not an entry', Buffer.from('  - 7\n'), 'it is not a mapping'],
    ['two entries', Buffer.from('  - {}\n  - {}\n'), 'it has 2 entries'],
    ['not YAML', Buffer.from('  - {'), 'not closed'],
    ['too deep', Buffer.from(`  - ${'['.repeat(100)}${']'.repeat(100)}\n`), 'nested'],
    [
      'a bomb',
      Buffer.from(
        `  - a: &a [x,x,x,x,x,x,x,x,x]\n    b: &b [${'*a,'.repeat(9)}]\n    c: &c [${'*b,'.repeat(9)}]\n    d: [${'*c,'.repeat(9)}]\n`,
      ),
      'aliases',
    ],
  ])('refuses what is %s', (_, bytes, problem) => {
    expect(readEntryBytes(bytes, 'yaml', 'test')).toEqual({ problem: expect.stringContaining(problem) });
  });
});

describe('normalizeCatalog', () => {
  const kep = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: kep}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: A}
    versions: [{name: v1}]
    runtime: {container: {image: example/a@sha256:${'a'.repeat(64)}}}
  - {group: example.com, names: {kind: B}, versions: [{name: v1}], runtime: {exec: {platforms: []}}}
  - nothing
  - {group: UPPER, names: {kind: C}}
`;

  const at = (position: number) => {
    const { group, names } = unnamedEntry(position);
    return { group, kind: names.kind };
  };

  it('makes a catalog of any layout one that can be split, and keeps why an entry cannot be used', () => {
    const normal = normalizeCatalog(Buffer.from(kep), 'test');
    expect('bytes' in normal && readSplit(normal.bytes)).toEqual([
      {
        group: 'example.com',
        kind: 'A',
        read: { definition: expect.objectContaining({ group: 'example.com' }) },
      },
      { group: 'example.com', kind: 'B', read: { problem: expect.stringContaining('krmFunctions[1]') } },
      { ...at(3), read: { problem: 'it is not a mapping' } },
      { ...at(4), read: { problem: expect.stringContaining('krmFunctions[3]') } },
    ]);
    expect([at(3), at(12), { group: 'unnamed.example.com', kind: 'Entry3' }].map(unnamedPosition)).toEqual([
      3,
      12,
      undefined,
    ]);
  });

  it('says what is not a catalog', () => {
    for (const text of ['', 'a: b', '- 1', 'kind: Deployment', '{', '\0']) {
      expect(normalizeCatalog(Buffer.from(text), 'test')).toEqual({ problem: expect.any(String) });
    }
  });

  it('takes a catalog without entries', () => {
    const empty = normalizeCatalog(
      Buffer.from(kep.replace(/krmFunctions:[\s\S]*/, 'krmFunctions: []\n')),
      'test',
    );
    expect('bytes' in empty && splitEntries(empty.bytes)).toBeUndefined();
    expect('bytes' in empty && JSON.parse(Buffer.from(empty.bytes).toString()).spec.krmFunctions).toEqual([]);
  });
});
