import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { SecretHider } from './hide-secrets.js';
import { compareManifests, type ManifestChanges } from './manifests.js';

const output = (text: string) => [{ command: 'build' as const, text }];
const compare = (before: string[], after: string[]): ManifestChanges =>
  compareManifests({ before: before.map(output), after: after.map(output) }, new SecretHider());
const map = (name: string, data: Record<string, string>) =>
  `apiVersion: v1\ndata:\n${Object.entries(data)
    .map(([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`)
    .join('')}kind: ConfigMap\nmetadata:\n  name: ${name}\n`;

/** What `git` makes of a file and a diff without its header. */
function applied(before: string, diff: readonly string[]): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-diff-'));
  writeFileSync(path.join(folder, 'file'), before);
  const patch = ['--- a/file', '+++ b/file', ...diff, ''].join('\n');
  const { status, stderr } = spawnSync('git', ['apply', '--unidiff-zero', '-'], {
    cwd: folder,
    input: patch,
  });
  expect([status, String(stderr)]).toEqual([0, '']);
  return spawnSync('cat', [path.join(folder, 'file')], { encoding: 'utf8' }).stdout;
}

describe('compared manifests', () => {
  it('name each resource that is added, removed, and changed, and give its change', () => {
    const random = new Random(3);
    for (let round = 0; round < 25; round++) {
      const names = Array.from({ length: 8 }, (_, index) => `map-${index}`);
      const data = () =>
        Object.fromEntries(
          Array.from({ length: 1 + random.below(9) }, (_, at) => [`k${at}`, `${random.below(3)}`]),
        );
      const before = new Map(random.some(names, 0.7).map((name) => [name, map(name, data())]));
      const after = new Map(
        random
          .some(names, 0.7)
          .map((name) => [
            name,
            random.chance(0.4) ? (before.get(name) ?? map(name, data())) : map(name, data()),
          ]),
      );
      const { changes } = compare([[...before.values()].join('---\n')], [[...after.values()].join('---\n')]);
      const expected = names.filter((name) => before.get(name) !== after.get(name));
      expect(changes.map(({ name }) => name).sort()).toEqual(expected);
      for (const { name, type, diff } of changes) {
        const [was, is] = [before.get(name), after.get(name)];
        expect(type).toBe(was === undefined ? 'added' : is === undefined ? 'removed' : 'changed');
        if (type === 'changed') expect(applied(was!, diff)).toBe(is);
        else
          expect(diff.slice(1)).toEqual(
            (was ?? is)!
              .trimEnd()
              .split('\n')
              .map((line) => `${was === undefined ? '+' : '-'}${line}`),
          );
      }
    }
  });

  it('say that only the order changed', () => {
    const [a, b] = [map('a', { x: '1' }), map('b', { x: '1' })];
    expect(compare([`${a}---\n${b}`], [`${b}---\n${a}`])).toMatchObject({ changes: [], isReordered: true });
    expect(compare([`${a}---\n${b}`], [b])).toMatchObject({ isReordered: false });
  });

  it('tell resources of one name apart', () => {
    const [a, b] = [map('a', { x: '1' }), map('a', { x: '2' })];
    const { changes } = compare([`${a}---\n${b}`], [`${a}---\n${map('a', { x: '3' })}`]);
    expect(changes).toHaveLength(1);
    expect(changes[0]!.diff).toContain('+  x: "3"');
  });

  it('leave out what differs between two runs with one lock, and nothing else', () => {
    const text = (time: string, value: string) => map('a', { time, value });
    const result = compare([text('t1', 'old'), text('t3', 'old')], [text('t2', 'new'), text('t4', 'new')]);
    expect(result.unstable).toEqual([expect.objectContaining({ name: 'a', fields: ['data.time'] })]);
    const [change] = result.changes;
    expect(change!.diff.filter((line) => /^[+-]/.test(line))).toEqual(['-  value: "old"', '+  value: "new"']);
    const nothing = compare([text('t1', 'old'), text('t3', 'old')], [text('t2', 'old'), text('t4', 'old')]);
    expect([nothing.changes, nothing.unstable.length]).toEqual([[], 1]);
  });

  it('leave out a resource whose name is another one each time', () => {
    const text = (name: string) => `${map(name, { a: '1' })}---\n${map('z', { a: '1' })}`;
    const result = compare([text('r1'), text('r3')], [text('r2'), text('r4')]);
    expect(result.changes).toEqual([]);
    expect(result.unstable.map(({ name }) => name)).toEqual(['r1', 'r3', 'r2', 'r4']);
  });

  it('put what is not applied last', () => {
    const local = (value: string) =>
      map('a', { x: value }).replace(
        'metadata:\n',
        'metadata:\n  annotations:\n    config.kubernetes.io/local-config: "true"\n',
      );
    const { changes } = compare(
      [`${local('1')}---\n${map('b', { x: '1' })}`],
      [`${local('2')}---\n${map('b', { x: '2' })}`],
    );
    expect(changes.map(({ name, isLocal }) => [name, isLocal])).toEqual([
      ['b', undefined],
      ['a', true],
    ]);
  });

  it('say of a Secret whose notation changed that only that did', () => {
    const secret = (style: string) =>
      `apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  a: ${style}\n`;
    const { changes } = compare([secret("'x'")], [secret('"x"')]);
    expect(changes).toEqual([expect.objectContaining({ type: 'changed', diff: [] })]);
  });
});
