import { describe, expect, it } from 'vitest';
import { renderCatalog, renderEntry } from '../render/render.js';
import { NASTY_STRINGS } from '../testing/nasty-strings.js';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { type FormerRead, readChangedEntries } from './read-changes.js';
import { readUpstreamWithTotals, UPSTREAM_LIMITS } from './read-upstream.js';

const HEAD =
  'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata:\n  name: vendor\nspec:\n  krmFunctions:\n';
const toBytes = (text: string) => Buffer.from(text);
const named = (kind: string, description = kind) =>
  functionDefinition({ group: 'banana.co', names: { kind }, description });
const item = (kind: string, description = kind) => renderEntry(named(kind, description)).yaml;
const catalog = (...items: string[]) => HEAD + items.join('');
const json = (...kinds: string[]) =>
  [
    ...renderCatalog(
      'catalog.json',
      { name: 'vendor' },
      kinds.map((kind) => renderEntry(named(kind))),
    ),
  ].join('');

function complete(text: string) {
  const read = readUpstreamWithTotals(toBytes(text), 'c');
  if ('problem' in read) throw new Error(read.problem);
  return read;
}

function readFormer(text: string): FormerRead {
  const { entries, totals } = complete(text);
  return { bytes: toBytes(text), entries: entries.map(({ facts }) => facts), totals };
}

const entryName = ({ group, kind, definition }: { group: string; kind: string; definition: string }) =>
  `${group}/${kind} ${definition}`;

/** The functions that were parsed, and those that were not; checks that both are those of a complete read. */
function compared(before: string, after: string) {
  const read = readChangedEntries(toBytes(after), 'c', readFormer(before));
  if (read === undefined) return undefined;
  const whole = complete(after);
  const parsed = read.entries.map(({ facts }) => facts);
  expect([...parsed, ...read.unchanged].map(entryName).sort()).toEqual(
    whole.entries.map(({ facts }) => entryName(facts)).sort(),
  );
  expect(read.totals.versions).toBeGreaterThanOrEqual(whole.totals.versions);
  expect(read.totals.storedBytes).toBeGreaterThanOrEqual(whole.totals.storedBytes);
  return [parsed.map(({ kind }) => kind).join(' '), read.unchanged.map(({ kind }) => kind).join(' ')];
}

const before = catalog(item('A'), item('B'), item('C'), item('D'));

describe('a changed catalog', () => {
  it('is parsed where its text changed', () => {
    expect(compared(before, catalog(item('A'), item('B', 'new'), item('C'), item('D')))).toEqual([
      'B D',
      'A C',
    ]);
    expect(compared(before, catalog(item('A'), item('New'), item('C')))).toEqual(['New C', 'A']);
    expect(compared(before, catalog(item('C'), item('D'), item('A'), item('B')))).toEqual(['D B', 'C A']);
    expect(compared(before, before.replace('vendor', 'other'))).toEqual(['D', 'A B C']);
    expect(compared(before, catalog(item('New'), item('Other')))).toBeUndefined();
  });

  it('has the entries of a complete read, with any texts', () => {
    const kinds = NASTY_STRINGS.map((_, at) => `Kind${at}`);
    const items = NASTY_STRINGS.flatMap((text, at) => {
      try {
        const made = item(kinds[at]!, text);
        // Some texts are not valid YAML, and make the whole catalog invalid.
        return 'problem' in readUpstreamWithTotals(toBytes(catalog(made)), 'c') ? [] : [made];
      } catch {
        return [];
      }
    });
    const valid = items.filter((one) => complete(catalog(one)).invalidEntries === 0);
    expect(valid.length).toBeGreaterThan(50);
    const like = valid.filter(
      (one) => compared(catalog(item('A'), one, item('B')), catalog(one, item('C'))) !== undefined,
    );
    expect(like.length).toBeGreaterThan(valid.length / 2);
    const old = catalog(...like, item('A'));
    for (let at = 1; at < like.length; at += 25) {
      const next = catalog(item('A'), ...like.slice(at), ...like.slice(0, at - 1), item('B'));
      expect(compared(old, next)).toBeDefined();
    }
  });

  it.each<[string, string, string]>([
    [
      'an invalid entry',
      before,
      catalog(item('A'), item('B').replace(/publisher: .*/, 'publisher: 3'), item('C')),
    ],
    ['two entries of a function', before, catalog(item('A'), item('B'), item('B', 'new'), item('C'))],
    ['names that differ only in case', before, catalog(item('A'), item('a'), item('C'))],
    ['another layout', before, before.replaceAll('\n  ', '\n')],
    [
      'a text that is not closed',
      before,
      catalog(item('A'), item('B').replace('description: B', 'description: "B'), item('C')),
    ],
    ['other fields after the entries', before, `${before}status: {}\n`],
    ['a second document', before, `${before}---\n${HEAD}`],
    ['JSON', before, json('A', 'B', 'C')],
    ['JSON, as before', json('A', 'B', 'C', 'D'), json('A', 'New', 'C', 'D')],
    ['YAML, and JSON before', json('A', 'B', 'C'), before],
    [
      'an alias',
      catalog(
        item('A').replace('description: A', 'description: &text A'),
        item('B').replace('description: B', 'description: *text'),
        item('C'),
      ),
      catalog(
        item('A').replace('description: A', 'description: &text new'),
        item('B').replace('description: B', 'description: *text'),
        item('C'),
      ),
    ],
  ])('is read completely if it has %s', (_, old, next) => {
    expect(compared(old, next)).toBeUndefined();
  });

  it('is read completely if a text of the former copy looked like entries', () => {
    const quoted = (kind: string) => item(kind).replace(`description: ${kind}`, 'description: "x');
    const end = item('B').replace('description: B', 'home: https://b.example"');
    const swallowed = catalog(item('A'), quoted('Q'), end, item('C'));
    const read = readUpstreamWithTotals(toBytes(swallowed), 'c');
    if ('problem' in read) return expect(read.problem).toBeTruthy();
    expect(read.entries.length).toBeLessThan(4);
    expect(compared(swallowed, catalog(item('A'), item('Q'), end, item('C')))).toBeUndefined();
  });

  it('is read completely when its sizes, counted together, are near the limits', () => {
    const next = toBytes(catalog(item('A'), item('B', 'new'), item('C')));
    const former = readFormer(before);
    const { maxAllVersions: versions, maxStoredBytes: storedBytes } = UPSTREAM_LIMITS;
    expect(readChangedEntries(next, 'c', former)).toBeDefined();
    expect(
      readChangedEntries(next, 'c', { ...former, totals: { ...former.totals, versions } }),
    ).toBeUndefined();
    expect(
      readChangedEntries(next, 'c', { ...former, totals: { ...former.totals, storedBytes } }),
    ).toBeUndefined();
  });

  it('is read completely if the stored entries are not those of the former copy', () => {
    const former = readFormer(before);
    const next = toBytes(before);
    expect(readChangedEntries(next, 'c', former)).toBeDefined();
    expect(readChangedEntries(next, 'c', { ...former, entries: former.entries.slice(1) })).toBeUndefined();
    const [first, ...others] = former.entries;
    const renamed = { ...former, entries: [{ ...first!, kind: 'Other' }, ...others] };
    const more = toBytes(catalog(item('A'), item('B'), item('C', 'new'), item('D')));
    const read = readChangedEntries(more, 'c', renamed);
    expect(read?.entries.map(({ facts }) => facts.kind)).toEqual(['A', 'C', 'D']);
  });

  it('keeps entries of several API versions', () => {
    const two = renderEntry(
      functionDefinition({
        group: 'banana.co',
        names: { kind: 'Two' },
        versions: [functionVersion('v1'), functionVersion('v2')],
      }),
    ).yaml;
    expect(compared(catalog(two, item('A')), catalog(two, item('B')))).toEqual(['B', 'Two']);
  });
});
