import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '@krmhub/schema';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { toYaml } from '../render/to-yaml.js';
import { fullLock, HUB, lockedFunction, sampleDigest, TEAM } from '../testing/locks.js';
import { LOCK_CODES } from './codes.js';
import { compareLockedImages, compareLocks } from './compare-locks.js';
import { LOCK_LIMITS, type Lock, sortLock } from './lock.js';
import { readLock } from './read-lock.js';
import { lockDocument, writeLock } from './write-lock.js';

/** What a golden file holds; with UPDATE=1 the file is written first. */
function golden(name: string, actual: string): string {
  const folder = new URL('../../../../test/golden/lock/', import.meta.url);
  if (process.env.UPDATE === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(new URL(name, folder), actual);
  }
  return readFileSync(new URL(name, folder), 'utf8');
}

const read = (text: string) => readLock(new TextEncoder().encode(text), 'krmhub.lock');
const whole = (): JsonObject => lockDocument(fullLock());

/** The document of the full lock with one value replaced; undefined removes the field. */
function changed(path: (string | number)[], value: JsonValue | undefined): string {
  const document = JSON.parse(JSON.stringify(whole())) as JsonObject;
  let holder = document as Record<string | number, JsonValue>;
  for (const segment of path.slice(0, -1)) holder = holder[segment] as Record<string | number, JsonValue>;
  const last = path.at(-1)!;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return toYaml(document);
}

describe('a lock file', () => {
  it('has the bytes of the golden file, and is read as it was written', () => {
    const text = writeLock(fullLock());
    expect(text).toBe(golden('krmhub.lock', text));
    const { lock, diagnostics } = read(text);
    expect(diagnostics).toEqual([]);
    expect(writeLock(lock!)).toBe(text);
    expect(lock!.functions.map(({ kind }) => kind)).toEqual(['SecretSidecar', 'JavaApplication', 'Logger']);
    expect(load(text)).toEqual(whole());
  });

  it('may hold nothing', () => {
    const text = writeLock({ catalogs: [], functions: [] });
    expect(text).toBe(golden('empty.lock', text));
    expect(read(text)).toMatchObject({ lock: { catalogs: [], functions: [] }, diagnostics: [] });
  });

  it('has the same bytes in whatever order the facts come', () => {
    const { catalogs, functions } = fullLock();
    const text = writeLock({ catalogs: catalogs.toReversed(), functions: functions.toReversed() });
    expect(text).toBe(writeLock(fullLock()));
  });

  it('changes only the lines of the function that changes', () => {
    const lock = fullLock();
    const upgraded: Lock = {
      ...lock,
      functions: lock.functions.map((one) => (one.kind === 'Logger' ? { ...one, release: '1.1.0' } : one)),
    };
    const [before, after] = [writeLock(lock), writeLock(upgraded)].map((text) => text.split('\n'));
    const different = after!.filter((line, at) => line !== before![at]);
    expect(different).toEqual(['  release: "1.1.0"']);
    expect(after).toHaveLength(before!.length);
  });

  it('says which tag a constraint meant, and how that changes', () => {
    const image = { image: 'example.com/fn:>=1, <2', tag: 'v1.2.0', digest: sampleDigest('1') };
    const lock: Lock = { catalogs: [], functions: [], images: [image] };
    expect(readLock(new TextEncoder().encode(writeLock(lock)), 'krmhub.lock').lock).toEqual(lock);
    const change = (tag: string, digest = sampleDigest('2')) =>
      compareLockedImages(lock, { ...lock, images: [{ ...image, tag, digest }] }).map((one) => one.class);
    expect([change('v1.3.0'), change('v1.1.0'), change('v1.2.0'), change('v1.2.0', image.digest)]).toEqual([
      ['upgraded'],
      ['downgraded'],
      ['rebuilt'],
      [],
    ]);
    const { diagnostics } = readLock(
      new TextEncoder().encode(writeLock(lock).replace('v1.2.0', 'v1:2')),
      'krmhub.lock',
    );
    expect(diagnostics.map(({ message }) => message)).toEqual(['"v1:2" is not a tag of an image']);
  });

  it('names the first executable of a platform, which is the one that runs', () => {
    const platform = { os: 'linux', arch: 'amd64', bin: 'x', uri: 'https://example.com/1' } as const;
    const platforms = [
      { ...platform, sha256: sampleDigest('1') },
      { ...platform, uri: 'https://example.com/2', sha256: sampleDigest('2') },
    ];
    const lock = {
      ...fullLock(),
      functions: [lockedFunction({ runtime: { type: 'exec', platforms } })],
    };
    expect(read(writeLock(lock)).lock!.functions[0]!.runtime).toEqual({
      type: 'exec',
      platforms: [platforms[0]],
    });
  });
});

describe('reading a lock file', () => {
  const fn = (...path: (string | number)[]) => ['functions', 1, ...path];
  const cases: [code: keyof typeof LOCK_CODES, what: string, text: string][] = [
    ['lock/document', 'another kind', changed(['kind'], 'ConfigMap')],
    ['lock/document', 'another version', changed(['apiVersion'], 'krmhub.dev/v2')],
    ['lock/document', 'two documents', `${toYaml(whole())}---\n${toYaml(whole())}`],
    ['lock/missing-field', 'no catalogs', changed(['catalogs'], undefined)],
    ['lock/missing-field', 'no definition', changed(fn('definition'), undefined)],
    ['lock/missing-field', 'no image', changed(fn('container', 'image'), undefined)],
    ['lock/unknown-field', 'a field of a later version', changed(fn('sandbox'), true)],
    ['lock/unknown-field', 'a field of a catalog', changed(['catalogs', 0, 'trusted'], true)],
    ['lock/unknown-field', 'a field of a runtime', changed(fn('container', 'mounts'), [])],
    ['lock/wrong-type', 'functions as a mapping', changed(['functions'], {})],
    ['lock/wrong-type', 'network as text', changed(fn('container', 'network'), 'yes')],
    ['lock/limit', 'a long text', changed(fn('signedBy'), 'x'.repeat(LOCK_LIMITS.maxTextLength + 1))],
    ['lock/digest', 'a short digest', changed(fn('definition'), 'sha256:abc')],
    ['lock/digest', 'a digest of a platform', changed(fn('container', 'platforms', 'linux/amd64'), 'x')],
    ['lock/serial', 'serial 0', changed(['catalogs', 1, 'serial'], 0)],
    ['lock/serial', 'serial of a function', changed(fn('serial'), 1.5)],
    ['lock/serial', 'serial as text', changed(['catalogs', 1, 'serial'], '12')],
    ['lock/name', 'no group', changed(fn('apiVersion'), 'v1')],
    ['lock/name', 'no kind', changed(fn('kind'), 'a kind')],
    ['lock/reference', 'an unlisted catalog', changed(fn('catalog'), 'https://other.example.com')],
    ['lock/reference', 'an unlisted catalog before', changed(fn('notIn', 0), 'other.yaml')],
    ['lock/reference', 'a reference with a space', changed(['catalogs', 1, 'reference'], 'a b')],
    ['lock/runtime', 'no runtime', changed(fn('container'), undefined)],
    ['lock/runtime', 'two runtimes', changed(fn('starlark'), { reference: 'https://example.com/a.star' })],
    ['lock/runtime', 'a tag', changed(fn('container', 'image'), 'hub.example.com/java:v1')],
    ['lock/runtime', 'no image name', changed(fn('container', 'image'), 'A B')],
    [
      'lock/runtime',
      'a platform of another form',
      changed(fn('container', 'platforms', 'amd64'), sampleDigest('1')),
    ],
    ['lock/runtime', 'an unknown system', changed(['functions', 2, 'exec', 'platforms', 0, 'os'], 'plan9')],
    [
      'lock/runtime',
      'a path out of the archive',
      changed(['functions', 2, 'exec', 'platforms', 0, 'bin'], '../sh'),
    ],
    [
      'lock/runtime',
      'an option as executable',
      changed(['functions', 2, 'exec', 'platforms', 0, 'bin'], '-x'),
    ],
    ['lock/runtime', 'no platform', changed(['functions', 2, 'exec', 'platforms'], [])],
    [
      'lock/duplicate',
      'a platform twice',
      changed(['functions', 2, 'exec', 'platforms', 1, 'arch'], 'amd64'),
    ],
    ['lock/duplicate', 'a catalog twice', changed(['catalogs', 1, 'reference'], TEAM)],
    ['lock/duplicate', 'a function twice', changed(['functions', 2, 'kind'], 'JavaApplication')],
  ];

  it.each(cases)('reports %s for %s, with its position', (code, _, text) => {
    const { lock, diagnostics } = read(text);
    expect(lock).toBeUndefined();
    expect(diagnostics.map((one) => one.code)).toContain(code);
    const found = diagnostics.find((one) => one.code === code)!;
    expect(found.file).toBe('krmhub.lock');
    if (text.split('\n---').length === 1) expect(found.range?.start.line).toBeGreaterThan(0);
  });

  it('has a case for every code', () => {
    expect([...new Set(cases.map(([code]) => code))].sort()).toEqual(Object.keys(LOCK_CODES).sort());
  });

  it('reports every problem, not only the first', () => {
    const text = changed(['catalogs', 1, 'serial'], 0).replace('kind: Logger', 'kind: "-"');
    expect(read(text).diagnostics.map(({ code }) => code)).toEqual(['lock/serial', 'lock/name']);
  });

  it('refuses what a failed merge leaves, and a file that is too large before it is parsed', () => {
    const conflict = writeLock(fullLock()).replace('functions:\n', '<<<<<<< ours\nfunctions:\n=======\n');
    expect(read(conflict).lock).toBeUndefined();
    const large = read(`#${'x'.repeat(LOCK_LIMITS.maxBytes)}`);
    expect(large.diagnostics.map(({ code }) => code)).toEqual(['lock/limit']);
  });
});

describe('comparing locks', () => {
  it('says what is added, removed and changed, and nothing of the rest', () => {
    const before = fullLock();
    const [logger, java, secrets] = before.functions as [
      Lock['functions'][number],
      Lock['functions'][number],
      Lock['functions'][number],
    ];
    const after: Lock = {
      catalogs: before.catalogs,
      functions: [{ ...java, release: '2.0.0' }, secrets, lockedFunction({ kind: 'Added' })],
    };
    expect(compareLocks(before, after)).toEqual([
      { type: 'added', catalog: HUB, apiVersion: 'example.com/v1', kind: 'Added', after: after.functions[2] },
      {
        type: 'changed',
        catalog: HUB,
        apiVersion: 'example.com/v1',
        kind: 'JavaApplication',
        before: java,
        after: after.functions[0],
      },
      { type: 'removed', catalog: HUB, apiVersion: 'example.com/v1', kind: 'Logger', before: logger },
    ]);
    expect(compareLocks(before, sortLock(before))).toEqual([]);
    const moved = before.functions.map((one) => ({ ...one, serial: 7, notIn: [HUB] }));
    expect(compareLocks(before, { ...before, functions: moved })).toEqual([]);
    expect(compareLocks(undefined, before).map(({ type }) => type)).toEqual(['added', 'added', 'added']);
  });
});
