import {
  type AuditFilter,
  type AuditRow,
  type AuditStore,
  type NewAuditRow,
  RevisionConflict,
} from '@krmhub/catalog';
import { AUDIT_ACTIONS, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { auditColumns, findBrokenRow } from '../../apps/registry/src/store/records/audit/chain.js';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { seed } from '../seed.js';
import { change, sampleManifest } from './manifest-store.js';
import { AT, changeOf } from './sample-records.js';
import { takedownOf } from './takedown-steps.js';

const HOSTILE = [
  '',
  "o'brien",
  'a%_b',
  '\u0000\u001b[2J',
  'half \ud800 of a pair',
  'größe \u{1f600}',
  'x'.repeat(900),
];
const ACTORS = ['admin', 'ci', 'krmhub', ...HOSTILE];
const OBJECTS = ['release/example.com/A@1.0.0', 'release/example.com/B@1.0.0', 'catalog/default', ...HOSTILE];
const DAYS = ['2030-01-01', '2030-01-02', '2030-01-03', '2030-01-04'];

function randomTime(random: Random): string {
  return `${random.pick(DAYS)}T0${random.below(10)}:00:00.00${random.below(3)}Z`;
}

function randomRow(random: Random): NewAuditRow {
  const credential = random.chance(0.5) ? random.pick(['t1', 't2', ...HOSTILE]) : undefined;
  return {
    at: randomTime(random),
    by: random.pick(ACTORS),
    action: random.pick([...AUDIT_ACTIONS]),
    object: random.pick(OBJECTS),
    outcome: random.chance(0.2) ? 'refused' : 'done',
    ...(credential === undefined ? {} : { origin: { credential, address: '192.0.2.1', requestId: 'r1' } }),
    ...(random.chance(0.5) && { detail: { reason: random.pick(HOSTILE), count: random.below(9) } }),
  };
}

function randomFilter(random: Random): AuditFilter {
  const action = random.pick([...AUDIT_ACTIONS]);
  return {
    ...(random.chance(0.3) && { actor: random.pick(['admin', 'ci', 't1', "o'brien", 'a%_b', 'nobody']) }),
    ...(random.chance(0.3) && { action: random.chance(0.5) ? action : action.split('.')[0]! }),
    ...(random.chance(0.3) && { object: random.pick(['release/', 'release/example.com/A', 'a%', 'größe']) }),
    ...(random.chance(0.2) && { outcome: 'refused' as const }),
    ...(random.chance(0.3) && { since: randomTime(random) }),
    ...(random.chance(0.3) && { until: randomTime(random) }),
  };
}

/** What the filter means, without SQL. */
function matches(filter: AuditFilter, row: AuditRow): boolean {
  const { actor, action, object = '', outcome, since = '', until = '9' } = filter;
  return (
    (actor === undefined || row.actor === actor || row.credential === actor) &&
    (action === undefined || row.action === action || row.action.startsWith(`${action}.`)) &&
    row.object.startsWith(object) &&
    (outcome === undefined || row.outcome === outcome) &&
    row.at >= since &&
    row.at <= until
  );
}

/** Reads all pages of random sizes. `between` runs after each. */
async function readAll(
  store: AuditStore,
  filter: AuditFilter,
  random: Random,
  between: () => Promise<void> = async () => undefined,
): Promise<AuditRow[]> {
  const all: AuditRow[] = [];
  for (let before: number | undefined; ; ) {
    const maxExamined = 1 + random.below(40);
    const limit = 1 + random.below(20);
    const { rows, next } = await store.auditRows(filter, { before, limit, maxExamined });
    expect(rows.length).toBeLessThanOrEqual(limit);
    all.push(...rows);
    if (next === undefined) return all;
    before = next;
    await between();
  }
}

/** All rows, oldest first. */
export async function allRows(store: AuditStore): Promise<AuditRow[]> {
  return (await store.auditRows({}, { limit: 100_000 })).rows.reverse();
}

/** Returns the first row that breaks the chain. */
export function brokenRow(rows: readonly AuditRow[]): ReturnType<typeof findBrokenRow> {
  const pruned = rows.findLast(({ action }) => action === 'audit.prune')?.detail;
  return findBrokenRow(
    rows.map((row) => {
      const { actor: by, credential, address, requestId, ...rest } = row;
      const origin = Object.fromEntries(
        Object.entries({ credential, address, requestId }).filter(([, value]) => value !== undefined),
      );
      return { ...auditColumns({ ...rest, by, origin }), sequence: row.sequence, hash: row.hash };
    }),
    pruned as Parameters<typeof findBrokenRow>[1],
  );
}

/** The contract of every AuditStore. */
export function auditContract(store: () => AuditStore): void {
  describe('the audit log', () => {
    it(`has pages of all rows that match, while rows are appended (seed ${seed})`, async () => {
      const random = new Random(seed);
      expect(await store().auditRows({}, { limit: 10 })).toEqual({ rows: [] });
      await Promise.all(Array.from({ length: 120 }, () => store().recordAct(randomRow(random))));
      for (let round = 0; round < 40; round += 1) {
        const filter = round === 0 ? {} : randomFilter(random);
        const before = (await allRows(store())).reverse();
        const found = await readAll(store(), filter, random, () =>
          random.chance(0.3) ? store().recordAct(randomRow(random)) : Promise.resolve(),
        );
        expect(found, JSON.stringify(filter)).toEqual(before.filter((row) => matches(filter, row)));
      }
      const rows = await allRows(store());
      expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, at) => at + 1));
      expect(brokenRow(rows)).toBeUndefined();
      expect(await store().auditHead()).toEqual({ sequence: rows.length, hash: rows.at(-1)!.hash });
    });

    it('has a chain that shows each change of a row', async () => {
      const random = new Random(seed);
      for (let count = 0; count < 30; count += 1) await store().recordAct(randomRow(random));
      const rows = await allRows(store());
      for (let round = 0; round < 100; round += 1) {
        const at = random.below(rows.length);
        const row = rows[at]!;
        const changed = structuredClone(rows);
        const field = random.pick(['at', 'actor', 'action', 'object', 'address', 'detail'] as const);
        if (field === 'detail') changed[at]!.detail = { ...row.detail, more: 1 };
        else changed[at]![field] = `!${row[field]}` as never;
        expect(brokenRow(changed)?.sequence, `${field}, seed ${seed}`).toBe(at + 1);
        const removed = rows.filter((one) => one !== row);
        expect(brokenRow(removed)?.sequence).toBe(rows[at + 1]?.sequence);
        const other = random.below(rows.length - 1);
        const moved = removed.toSpliced(other, 0, row);
        if (other !== at) expect(brokenRow(moved)).toBeDefined();
      }
    });

    it('is pruned from its beginning, and its chain stays verifiable', async () => {
      const day = (count: number) => `2030-01-${String(count).padStart(2, '0')}T00:00:00.000Z`;
      const record = (at: string) =>
        store().recordAct({ at, by: 'ci', action: 'token.use', object: 'token/1', outcome: 'done' });
      const prune = (before: string, limit = 1_000) => store().pruneAudit({ before, at: day(31), limit });
      expect(await prune(day(20))).toBe(0);
      for (let count = 1; count <= 10; count += 1) await record(day(count));
      // A clock that was wrong.
      await record(day(2));
      const all = await allRows(store());
      expect(await prune(day(1))).toBe(0);
      expect(await prune(day(5), 3)).toBe(3);
      expect(await prune(day(5))).toBe(1);
      const left = await allRows(store());
      expect(left.slice(0, 7)).toEqual(all.slice(4));
      const detail = { through: 4, hash: all[3]!.hash, rows: 1 };
      expect(left.at(-1)).toMatchObject({ sequence: 13, actor: 'krmhub', action: 'audit.prune', detail });
      expect(brokenRow(left)).toBeUndefined();
      expect(brokenRow(left.slice(1))).toEqual({ sequence: 6, problem: 'the row before it is missing' });
      expect(await prune(day(30))).toBe(7);
      expect(brokenRow(await allRows(store()))).toBeUndefined();
    });

    it('has each registry key once', async () => {
      const keys = [
        { fingerprint: sha256('one'), validFrom: AT },
        { fingerprint: sha256('two'), validFrom: AT },
      ];
      await store().recordKeys(keys.slice(0, 1), AT);
      await Promise.all([store().recordKeys(keys, AT), store().recordKeys(keys, AT)]);
      const rows = await allRows(store());
      expect(rows.map(({ action, object }) => [action, object])).toEqual(
        keys.map(({ fingerprint }) => ['key.add', `key/${fingerprint}`]),
      );
    });
  });
}

/** The rows that methods of other ports add. */
export function auditedActsContract(store: () => RegistryStore): void {
  const origin = { credential: 't1', address: '192.0.2.1', requestId: 'r1' };
  const from = { by: 'admin', origin };
  /** What the newest rows say, oldest first. */
  const acts = async () =>
    (await allRows(store())).map(({ actor, action, object, credential, address, requestId }) => {
      const known = { credential, address, requestId };
      return [actor, action, object, ...(credential === undefined ? [] : [known])];
    });
  const row = (action: string, object: string, by = 'admin') => [by, action, object, origin];

  describe('acts', () => {
    it('on releases, policies, owners, and catalogs have a row each, and builds have none', async () => {
      const one = changeOf({ kind: 'One' });
      const name = 'release/example.com/One@1.0.0';
      await store().commitFunction({ ...one, origin });
      await expect(store().commitFunction({ ...one, origin })).rejects.toThrow();
      const event = { at: AT, by: 'admin' };
      await store().applyPolicies({
        ...{ text: '', appliedAt: AT, appliedBy: 'admin', expectedRevision: 0, origin },
        event: { ...event, type: 'policy.applied', reason: 'none' },
      });
      const changed = { ...event, type: 'access.applied' as const };
      const document = { text: '', appliedAt: AT, appliedBy: 'admin', expectedRevision: 0 };
      await store().applyAccess({ ...document, event: changed, origin });
      const claim = { group: 'example.com', team: 'a', proof: 'dns', claimedBy: 'admin' } as const;
      const claimed = { ...claim, claimedAt: AT, checkedAt: AT };
      const ended = { ...claimed, group: 'ended.example.com' };
      await store().putOwnerClaim(ended);
      const next = { ...document, expectedRevision: 1, event: changed, origin };
      await store().applyAccess({ ...next, teams: ['b'] });
      await store().putOwnerClaim(claimed, { event: changed, origin });
      await store().putOwnerClaim(claimed, { replaces: claimed });
      const missing = { ...claimed, missingSince: AT, problem: 'gone' };
      const check = { replaces: claimed, event: changed, action: 'owner.check', origin } as const;
      await store().putOwnerClaim(missing, check);
      const other = { ...claimed, team: 'b' };
      for (const replaces of [undefined, other]) {
        const replacing = store().putOwnerClaim(other, { replaces, event: changed, origin });
        await expect(replacing).rejects.toThrow(RevisionConflict);
      }
      await expect(store().deleteOwnerClaim(other, changed, origin)).rejects.toThrow(RevisionConflict);
      await store().deleteOwnerClaim(claimed, changed, origin);
      await expect(store().deleteOwnerClaim(claimed, changed, origin)).rejects.toThrow(RevisionConflict);
      const applied = { ...event, type: 'catalog.applied' as const, catalog: 'zoo' };
      await store().applyRecipe({
        ...{ name: 'zoo', recipe: 'r', expectedRecipe: undefined, at: AT, by: 'admin', event: applied },
        origin,
      });
      const deletion = { at: AT, by: 'admin', reason: 'old', restorableUntil: AT };
      const deleted = { ...event, type: 'catalog.deleted' as const, catalog: 'zoo', reason: 'old' };
      await store().deleteCatalog({ name: 'zoo', deletion, event: deleted, origin });
      const restored = { ...event, type: 'catalog.restored' as const, catalog: 'zoo' };
      await store().restoreCatalog({ name: 'zoo', at: AT, event: restored, origin });
      await store().deleteCatalog({ name: 'zoo', deletion, event: deleted, origin });
      for (let twice = 0; twice < 2; twice += 1) expect(await store().startPurge('zoo', AT)).toBe(true);
      while (await store().purgeRows('zoo', AT));
      expect(await store().startPurge('other', AT)).toBe(false);
      const takedown = {
        ...{ group: 'example.com', kind: 'One', expectedRevision: 1, origin },
        takedowns: [takedownOf(one.release)],
      };
      await store().commitTakedown(takedown, { dryRun: true });
      await store().commitTakedown(takedown, { dryRun: false });
      await store().allowRuntimes([{ group: 'example.com', kind: 'One', release: '1.0.0' }], {
        at: AT,
        ...from,
      });
      const publisher = one.event.by;
      expect(await acts()).toEqual([
        row('release.publish', name, publisher),
        row('policy.apply', 'policies'),
        row('access.apply', 'access'),
        row('access.apply', 'access'),
        row('owner.release', 'group/ended.example.com'),
        row('owner.claim', 'group/example.com'),
        row('owner.check', 'group/example.com'),
        row('owner.release', 'group/example.com'),
        row('catalog.apply', 'catalog/zoo'),
        row('catalog.delete', 'catalog/zoo'),
        row('catalog.restore', 'catalog/zoo'),
        row('catalog.delete', 'catalog/zoo'),
        ['krmhub', 'catalog.purge', 'catalog/zoo'],
        row('release.take-down', name, takedownOf(one.release).by),
        row('release.allow-runtimes', name),
      ]);
    });

    it('on tokens have a row each, and their use one per day', async () => {
      const token = {
        ...{ id: 't2', name: 'ci', scopes: ['publish'], groups: ['*'], repositories: [] },
        ...{ createdAt: AT, createdBy: 'admin' },
      };
      await store().createToken(token, 'f00d', origin);
      await expect(store().createToken({ ...token, id: 't3' }, 'f00d', origin)).rejects.toThrow();
      for (const at of ['2030-01-03T10', '2030-01-03T23', '2030-01-02T10', '2030-01-04T00']) {
        await store().touchToken('t2', `${at}:00:00.000Z`, { ...origin, credential: 't2' });
      }
      for (const by of ['admin', 'other']) await store().revokeToken('t2', AT, { by, origin });
      const used = (at: string) => ['ci', 'token.use', at];
      const rows = (await allRows(store())).map((one) =>
        one.action === 'token.use' ? used(one.at.slice(0, 10)) : [one.actor, one.action, one.object],
      );
      expect(rows).toEqual([
        ['admin', 'token.create', 'token/t2'],
        used('2030-01-03'),
        used('2030-01-04'),
        ['admin', 'token.revoke', 'token/t2'],
      ]);
      expect(JSON.stringify(await allRows(store()))).not.toContain('f00d');
    });

    it('on repositories and sessions have a row each', async () => {
      const pushed = { ...change(), ...from };
      const name = 'repository/team/tools';
      const { digest, ...manifest } = sampleManifest('{}');
      for (const tagged of [{ tag: 'v1' }, {}]) {
        await store().putManifest(
          'team/tools',
          { digest, ...manifest },
          { ...pushed, needed: [], ...tagged },
        );
      }
      const blob = { digest: sha256('b'), file: sha256('b'), place: 'artifacts', size: 1 } as const;
      await store().addBlob('team/tools', blob, pushed);
      for (let twice = 0; twice < 2; twice += 1) {
        await store().deleteTag('team/tools', 'v1', pushed);
        await store().deleteManifest('team/tools', digest, pushed);
        await store().deleteBlob('team/tools', blob.digest, pushed);
      }
      const lone = sampleManifest('lone');
      for (let twice = 0; twice < 2; twice += 1)
        await store().putManifest('team/tools', lone, { ...pushed, needed: [] });
      for (const at of ['2030-01-01T00:00:00.000Z', '2031-01-01T00:00:00.000Z'])
        await store().deleteUntaggedManifests({ pushedBefore: at, at });
      const session = { hash: 's', tokenHash: 'f00d', createdAt: AT, expiresAt: '2031-01-01T00:00:00.000Z' };
      await store().beginSession(session, { maxOfOne: 2, max: 3 }, { at: AT, ...from });
      for (let twice = 0; twice < 2; twice += 1) await store().endSession('s', { at: AT, ...from });
      expect(await acts()).toEqual([
        row('artifact.push', `${name}:v1`),
        row('artifact.untag', `${name}:v1`),
        row('artifact.delete', `${name}@${digest}`),
        row('artifact.delete-blob', `${name}@${blob.digest}`),
        row('artifact.push', `${name}@${lone.digest}`),
        ['krmhub', 'artifact.delete', `${name}@${lone.digest}`],
        row('operator.sign-in', 'operate'),
        row('operator.sign-out', 'operate'),
      ]);
    });
  });
}
