import type {
  AuditStore,
  ConsumedRelease,
  ConsumerCounts,
  ConsumerRecord,
  ConsumerStore,
} from '@krmhub/catalog';
import { compareText } from '@krmhub/schema/compare-text';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';

const DAY = 86_400_000;
const START = Date.parse('2030-01-02T03:04:05.678Z');
const at = (days: number) => new Date(START + days * DAY).toISOString();
const MAX = 3;

/** The contract of every ConsumerStore. */
export function consumerContract(store: () => ConsumerStore & AuditStore): void {
  const put = (consumer: Omit<ConsumerRecord, 'reportedAt'>, day = 0) =>
    store().putConsumer(
      { ...consumer, reportedAt: at(day) },
      { expired: at(day - 90), max: MAX },
      { at: at(day), by: consumer.reporter },
    );
  const setLabels = { group: 'example.com', kind: 'SetLabels' };
  const release = (name: string, more: Partial<ConsumedRelease> = {}): ConsumedRelease => ({
    ...{ ...setLabels, version: 'v1', release: name },
    ...more,
  });

  describe('reports of consumers', () => {
    it('replace the one of the same reporter, and are audited if they differ', async () => {
      const name = 'github.com/example/shop';
      const reporter = "team/it's";
      expect(await put({ reporter, name, releases: [release('1.0.0'), release('2.0.0')] })).toBe('changed');
      expect(await put({ reporter, name, releases: [release('2.0.0'), release('1.0.0')] }, 1)).toBe(
        'unchanged',
      );
      expect(await put({ reporter, name, releases: [release('2.0.0', { fields: ['a.b', 'c'] })] }, 2)).toBe(
        'changed',
      );
      expect(await store().countConsumers({ ...setLabels, kind: 'SETLABELS' }, at(2), 10)).toEqual({
        packages: 1,
        releases: [{ version: 'v1', release: '2.0.0', packages: 1 }],
        fields: [
          { version: 'v1', field: 'a.b', packages: 1 },
          { version: 'v1', field: 'c', packages: 1 },
        ],
        names: [name],
      });
      expect(await put({ reporter, name, releases: [] }, 3)).toBe('changed');
      expect(await put({ reporter, name, releases: [] }, 3)).toBe('unchanged');
      expect(await store().countConsumers(setLabels, at(0), 10)).toEqual(NOTHING);
      const { rows } = await store().auditRows({ action: 'consumer.report' }, { limit: 10 });
      expect(rows.map(({ object, detail }) => [object, detail])).toEqual(
        [0, 1, 2].map((releases) => [`consumer/${name}`, { reporter, releases }]),
      );
    });

    it('are limited for each reporter', async () => {
      const names = ['a', 'b', 'c', 'd'];
      const outcomes = [];
      for (const name of names)
        outcomes.push(await put({ reporter: 'x', name, releases: [release('1.0.0')] }));
      expect(outcomes).toEqual(['changed', 'changed', 'changed', 'too-many']);
      expect(await put({ reporter: 'x', name: 'c', releases: [release('1.1.0')] })).toBe('changed');
      expect(await put({ reporter: 'y', name: 'd', releases: [release('1.0.0')] })).toBe('changed');
      // Old ones make room.
      expect(await put({ reporter: 'x', name: 'd', releases: [release('1.0.0')] }, 91)).toBe('changed');
      await store().deleteConsumers(at(92));
      expect(await store().countConsumers(setLabels, at(0), 10)).toEqual(NOTHING);
    });

    it('count as a model does, whatever the order', async () => {
      const random = new Random(7);
      const model = new Map<string, ConsumerRecord>();
      const releases = ['1.0.0', '1.1.0', '2.0.0-rc.1'];
      for (let day = 0; day < 60; day++) {
        const reporter = random.pick(['team/a', 'user/b']);
        const name = random.pick(['sha256:aa', 'sha256:bb', 'github.com/example/shop']);
        const locked = releases.flatMap((one) =>
          random.chance(0.6)
            ? []
            : [
                release(one, {
                  kind: random.pick(['SetLabels', 'Apply']),
                  version: random.pick(['v1', 'v1beta1']),
                  ...(random.chance(0.5) ? { fields: random.some(['a', 'b.c', 'labels.*'], 0.5) } : {}),
                }),
              ],
        );
        await put({ reporter, name, releases: locked }, day);
        const key = `${reporter} ${name}`;
        if (locked.length === 0) model.delete(key);
        else model.set(key, { reporter, name, reportedAt: at(day), releases: locked });
        if (day % 10 !== 9) continue;
        const since = at(day - random.below(30));
        for (const kind of ['SetLabels', 'Apply']) {
          const counts = await store().countConsumers({ group: 'example.com', kind }, since, 10);
          expect(counts, `day ${day}`).toEqual(counted([...model.values()], kind, since));
        }
      }
    });
  });
}

const NOTHING: ConsumerCounts = { packages: 0, releases: [], fields: [], names: [] };

function counted(records: readonly ConsumerRecord[], kind: string, since: string): ConsumerCounts {
  const uses = records
    .filter(({ reportedAt }) => reportedAt >= since)
    .flatMap(({ name, releases }) =>
      releases.filter((one) => one.kind === kind).map((one) => ({ name, ...one })),
    );
  const count = (keys: { key: string; name: string }[]) => {
    const found = new Map<string, Set<string>>();
    for (const { key, name } of keys) found.set(key, (found.get(key) ?? new Set()).add(name));
    return [...found].map(([key, all]) => [key, all.size] as const).sort(([a], [b]) => compareText(a, b));
  };
  const names = [...new Set(uses.map(({ name }) => name))];
  const parts = (key: string) => key.split(' ') as [string, string];
  return {
    packages: names.length,
    releases: count(uses.map(({ name, version, release }) => ({ key: `${version} ${release}`, name }))).map(
      ([key, packages]) => ({ version: parts(key)[0], release: parts(key)[1], packages }),
    ),
    fields: count(
      uses.flatMap(({ name, version, fields = [] }) =>
        fields.map((field) => ({ key: `${version} ${field}`, name })),
      ),
    ).map(([key, packages]) => ({ version: parts(key)[0], field: parts(key)[1], packages })),
    names: names.filter((name) => !name.startsWith('sha256:')).sort(),
  };
}
