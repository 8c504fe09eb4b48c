import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { AuditStore } from '@krmhub/catalog';
import pg from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openPool } from '../../apps/registry/src/store/postgres/pool.js';
import { postgresSql } from '../../apps/registry/src/store/postgres/postgres-sql.js';
import { ManyProcesses } from '../../apps/registry/src/store/postgres/processes/many-processes.js';
import { auditRows } from '../../apps/registry/src/store/records/audit/audit.js';
import type { Sql } from '../../apps/registry/src/store/sql/sql.js';
import { text } from '../../apps/registry/src/store/sql/statement.js';
import { allRows, brokenRow } from '../contracts/audit-store.js';
import { postgresMissing, query } from '../contracts/postgres.js';
import { useServers } from './servers.js';

const PATIENCE = { timeout: 60_000, interval: 20 };
const insert = text<never>('INSERT INTO note VALUES (:note)');
const select = text<{ note: string }>('SELECT note FROM note ORDER BY note');

/** A process, as far as the others see it. */
interface Member {
  processes: ManyProcesses;
  sql: Sql;
  pool: pg.Pool;
  /** What its work did while it led. */
  led: string[];
}

describe.skipIf(postgresMissing)('processes on one database (needs PostgreSQL)', () => {
  let url: string;
  const members = new Set<Member>();
  const servers = useServers({ postgres: true });
  beforeEach(async () => {
    url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    await query(url, 'CREATE TABLE note (note text)');
  });
  afterEach(async () => {
    for (const member of members) await end(member);
  });

  const times = { renew: 100, read: 100, lost: 2_000, drain: 600_000 };
  async function join({
    sharedBlobs = true,
    given = times,
    through = (sql: Sql) => sql,
  } = {}): Promise<Member> {
    const pool = openPool(url, 4);
    try {
      const log = pino({ level: 'silent' });
      const processes = await ManyProcesses.join({
        url,
        sql: through(postgresSql(pool)),
        sharedBlobs,
        times: given,
        log,
      });
      const member = { processes, pool, sql: postgresSql(pool, () => processes.id), led: [] as string[] };
      await processes.onLead({
        start: () => void member.led.push('start'),
        stop: async () => void member.led.push('stop'),
      });
      members.add(member);
      return member;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }
  async function end(member: Member): Promise<void> {
    members.delete(member);
    await member.processes.stop();
    await member.processes.leave();
    await member.pool.end();
  }
  it('append to one chain of the audit log, also while one of them deletes old rows', async () => {
    const stores = (await Promise.all([join(), join(), join()])).map(({ sql }) => auditRows(sql));
    const day = (count: number) => `2030-01-${String(10 + count)}T00:00:00.000Z`;
    const record = (store: AuditStore, count: number) =>
      store.recordAct({ at: day(count), by: 'ci', action: 'token.use', object: 'token/1', outcome: 'done' });
    for (let count = 0; count < 9; count += 1) await record(stores[0]!, count);
    const appended = stores.flatMap((store) => Array.from({ length: 40 }, () => record(store, 9)));
    const [one, other] = stores;
    const deleted = [
      await one!.pruneAudit({ before: day(4), at: day(9), limit: 2 }),
      await other!.pruneAudit({ before: day(4), at: day(9), limit: 10 }),
    ];
    await Promise.all(appended);
    expect(deleted).toEqual([2, 2]);
    const rows = await allRows(stores[2]!);
    expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 127 }, (_, at) => at + 5));
    expect(brokenRow(rows)).toBeUndefined();
  });

  const write = ({ sql }: Member, note: string) => sql.write(() => insert.run({ note }));
  const notes = async ({ sql }: Member) => (await sql.read(() => select.all())).map(({ note }) => note);
  /** As another process does after this one did not renew. */
  const giveUp = ({ processes }: Member) => query(url, `DELETE FROM process WHERE id = '${processes.id}'`);
  const canStore = ({ processes }: Member) => processes.bytesLock.read(async () => true).catch(() => false);
  const isCurrent = ({ processes }: Member) => {
    try {
      processes.ensureCurrent();
      return true;
    } catch {
      return false;
    }
  };
  const rows = async () =>
    (await query<{ id: string }>(url, 'SELECT id FROM process ORDER BY id')).map(({ id }) => id);
  const holders = () => query<{ name: string; holder: string }>(url, 'SELECT name, holder FROM lease');

  it('has exactly one that leads, and another one when it leaves', async () => {
    const [a, b, c] = [await join(), await join(), await join()];
    expect([a, b, c].map(({ processes }) => processes.leads)).toEqual([true, false, false]);
    expect([a.led, b.led, c.led]).toEqual([['start'], [], []]);
    await end(a);
    expect(a.led).toEqual(['start', 'stop']);
    await expect.poll(() => [b, c].filter(({ processes }) => processes.leads).length, PATIENCE).toBe(1);
    const [leader, other] = b.processes.leads ? [b, c] : [c, b];
    await expect.poll(() => leader.led, PATIENCE).toEqual(['start']);
    expect(other.led).toEqual([]);
    expect(await holders()).toEqual([{ name: 'background', holder: leader.processes.id }]);
  });

  it('gives up one that does not renew, and stores nothing of it', async () => {
    const a = await join();
    const { id } = a.processes;
    await query(url, `UPDATE process SET seen_at = seen_at - interval '1 hour' WHERE id = '${id}'`);
    // Alone: another process may remove such a row as soon as it sees it, also before the process renews it.
    await write(a, 'before');
    const b = await join();
    await giveUp(a);
    await expect(write({ ...a, sql: postgresSql(a.pool, () => id) }, 'late')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the other processes of the registry removed this one',
    });
    expect(await notes(b)).toEqual(['before']);
    // It joins again with another ID, and writes.
    await expect.poll(() => a.processes.id !== id, PATIENCE).toBe(true);
    await expect.poll(() => write(a, 'after').then(() => 'stored', String), PATIENCE).toBe('stored');
    await expect.poll(() => [a, b].filter(({ processes }) => processes.leads).length, PATIENCE).toBe(1);
  });

  it('joins again after the answer to its row was lost, which was stored', async () => {
    const joins = { lost: 0 };
    const losing = (sql: Sql): Sql => ({
      ...sql,
      write: async (work, options) => {
        const result = await sql.write(work, options);
        if (joins.lost !== 1) return result;
        joins.lost = 2;
        throw new Error('the connection broke after COMMIT');
      },
    });
    const given = { ...times, read: 3_600_000 };
    const a = await join({ given, through: losing });
    const b = await join({ given });
    joins.lost = 1;
    await giveUp(a);
    await query(url, 'NOTIFY krmhub_process');
    await expect.poll(() => joins.lost, PATIENCE).toBe(2);
    await expect.poll(() => canStore(a), PATIENCE).toBe(true);
    // The others remove what it does not use.
    await expect.poll(() => rows(), PATIENCE).toEqual([a, b].map(({ processes }) => processes.id).sort());
  });

  it('joins again only when what stores bytes has ended, and refuses other such work', async () => {
    const [a, b] = [await join(), await join()];
    const { id } = a.processes;
    let store: () => void = () => undefined;
    const stored = new Promise<void>((resolve) => {
      store = resolve;
    });
    const storing = a.processes.bytesLock.read(async () => {
      await stored;
      await write(a, 'late');
    });
    await giveUp(a);
    await expect
      .poll(() => a.processes.bytesLock.read(async () => 'read').catch(({ code }) => code), PATIENCE)
      .toBe('unavailable');
    expect(() => a.processes.ensureCurrent()).toThrow('removed this one');
    await sleep(times.renew * 5);
    expect(a.processes.id).toBe(id);
    store();
    await expect(storing).rejects.toMatchObject({ code: 'unavailable' });
    await expect
      .poll(() => a.processes.bytesLock.read(async () => a.processes.id !== id).catch(() => false), PATIENCE)
      .toBe(true);
    a.processes.ensureCurrent();
    expect(await notes(b)).toEqual([]);
  });

  it('deletes bytes while no process stores any', async () => {
    const [a, b, c] = [await join(), await join(), await join()];
    const order: string[] = [];
    let paused = 0;
    c.processes.pauses({
      async pause() {
        paused += 1;
      },
      resume: () => undefined,
    });
    let stored: () => void = () => undefined;
    const storing = b.processes.bytesLock.read(async () => {
      await new Promise<void>((resolve) => {
        stored = resolve;
      });
      order.push('stored');
    });
    const deleting = a.processes.bytesLock.exclusively(async () => {
      order.push('delete');
      await sleep(times.renew * 3);
      order.push('deleted');
    });
    await expect.poll(() => paused, PATIENCE).toBe(1);
    // Also one that joins now waits.
    const d = await join();
    const later = [c, d].map(({ processes }) =>
      processes.bytesLock.read(async () => void order.push('later')),
    );
    expect(order).toEqual([]);
    stored();
    await Promise.all([storing, deleting, ...later]);
    expect(order).toEqual(['stored', 'delete', 'deleted', 'later', 'later']);
    await expect.poll(async () => (await holders()).length, PATIENCE).toBe(1);
  });

  it.each(['another', 'the same'])(
    'refuses exclusive work if %s process does not stop storing',
    async (which) => {
      const [a, b] = [await join({ given: { ...times, drain: 500 } }), await join()];
      const storing = which === 'another' ? b : a;
      let stored: () => void = () => undefined;
      const stuck = storing.processes.bytesLock.read(async () => {
        await new Promise<void>((resolve) => {
          stored = resolve;
        });
        await write(storing, 'stuck');
      });
      const order: string[] = [];
      await expect(
        a.processes.bytesLock.exclusively(async () => void order.push('deleted')),
      ).rejects.toMatchObject({
        code: 'unavailable',
        message: 'the processes of the registry did not finish storing bytes in time',
        hint: expect.stringMatching(/^Nothing was changed/),
      });
      await expect
        .poll(async () => (await holders()).map(({ name }) => name), PATIENCE)
        .toEqual(['background']);
      const others = await join();
      await expect.poll(() => canStore(others), PATIENCE).toBe(true);
      expect(order).toEqual([]);
      stored();
      await stuck;
      expect(await notes(a)).toEqual(['stuck']);
      expect(await others.processes.bytesLock.exclusively(async () => 'deleted')).toBe('deleted');
      for (const member of [a, b]) await expect.poll(() => canStore(member), PATIENCE).toBe(true);
      expect(order).toEqual([]);
    },
  );

  it('stores no bytes after it joined again while another process deletes', async () => {
    const [a, b] = [await join(), await join()];
    const order: string[] = [];
    let deleted: () => void = () => undefined;
    const deleting = a.processes.bytesLock.write(async () => {
      await new Promise<void>((resolve) => {
        deleted = resolve;
      });
      order.push('deleted');
    });
    await expect.poll(async () => (await holders()).length, PATIENCE).toBe(2);
    const { id } = b.processes;
    await giveUp(b);
    const storing = (async () => {
      while (!(await b.processes.bytesLock.read(async () => order.push('stored')).catch(() => false)))
        await setImmediate();
    })();
    await expect.poll(() => b.processes.id !== id, PATIENCE).toBe(true);
    await sleep(times.renew * 3);
    expect(order).toEqual([]);
    deleted();
    await Promise.all([deleting, storing]);
    expect(order).toEqual(['deleted', 'stored']);
  });

  it('leaves the lead to another process if it cannot do the work', async () => {
    const [leader, c, d] = [await join(), await join(), await join()];
    let failures = 0;
    await c.processes.onLead({
      start: () => {
        failures += 1;
        throw new Error('the disk is full');
      },
      stop: async () => undefined,
    });
    await query(url, `UPDATE lease SET holder = '${c.processes.id}' WHERE name = 'background'`);
    await leader.processes.stop();
    await expect.poll(() => d.processes.leads, PATIENCE).toBe(true);
    expect(failures).toBe(3);
    await expect.poll(() => d.led, PATIENCE).toEqual(['start']);
    expect(c.processes.leads).toBe(false);
  });

  it('locks its connection once the server has noticed that the one before broke', async () => {
    const a = await join();
    const { id } = a.processes;
    const held = `FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND classid = ${0x6b726d70} AND granted = `;
    const names = async (granted: boolean) =>
      (await query<{ name: string }>(url, `SELECT application_name AS name ${held} ${granted}`)).map(
        ({ name }) => name,
      );
    expect(await names(true)).toEqual(['krmhub']);
    // The server may hear of the end of a connection long after the process.
    const broken = new pg.Client({ connectionString: url, application_name: 'broken' });
    await broken.connect();
    try {
      const locked = broken.query(`SELECT pg_advisory_lock(${0x6b726d70}, hashtext('${id}'))`);
      await expect.poll(() => names(false), PATIENCE).toEqual(['broken']);
      await query(url, `SELECT pg_terminate_backend(pid) ${held} true`);
      await locked;
      // It renews over another connection.
      const [before] = await query<{ at: string }>(url, 'SELECT clock_timestamp()::text AS at');
      const renewed = `SELECT 1 FROM process WHERE seen_at > '${before!.at}'`;
      await expect.poll(async () => (await query(url, renewed)).length, PATIENCE).toBe(1);
      expect(await names(true)).toEqual(['broken']);
    } finally {
      await broken.end();
    }
    await expect.poll(() => names(true), PATIENCE).toEqual(['krmhub']);
    expect(a.processes.id).toBe(id);
  });

  it('sends no statements while nothing happens, and learns at once that the leader ended', async () => {
    const given = { ...times, read: 600_000 };
    const [a, b, c] = [await join({ given }), await join({ given }), await join({ given })];
    const rows = () =>
      query<{ id: string; seen: string }>(url, 'SELECT id, seen_at::text AS seen FROM process ORDER BY id');
    const hung = new pg.Client({ connectionString: url });
    await hung.connect();
    // As a process whose machine stops later.
    await hung.query(`SELECT pg_advisory_lock(${0x6b726d70}, hashtext('hung'))`);
    await hung.query(
      `INSERT INTO process SELECT 'hung', now(), now(), true, 0, max(tables_version) FROM process`,
    );
    await a.processes.stop();
    await query(url, `UPDATE lease SET holder = 'hung'; NOTIFY krmhub_process`);
    const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await expect.poll(async () => (await query(url, waiting)).length, PATIENCE).toBe(3);
    const before = await rows();
    // Longer than the server keeps a connection on which nothing is sent.
    await sleep(2 * times.lost);
    expect(await rows()).toEqual(before);
    expect([a, b, c].map((one) => [isCurrent(one), one.processes.hasLeader()])).toEqual(
      Array(3).fill([true, true]),
    );
    expect([b, c].filter(({ processes }) => processes.leads)).toEqual([]);
    await hung.end();
    await expect.poll(() => [b, c].filter(({ processes }) => processes.leads).length, PATIENCE).toBe(1);
    expect((await rows()).map(({ id }) => id)).toEqual(
      before.map(({ id }) => id).filter((id) => id !== 'hung'),
    );
    // What needs all of them still finds all of them.
    expect(await c.processes.bytesLock.write(async () => 'deleted')).toBe('deleted');
  });

  it('keeps a process whose connection breaks, and that connects again', async () => {
    const given = { ...times, read: 600_000 };
    const [a, b] = [await join({ given }), await join({ given })];
    const { id } = a.processes;
    const heartbeat = `FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE classid = ${0x6b726d70}
      AND mode = 'ExclusiveLock' AND granted AND objid = (hashtext('${id}')::bigint & 4294967295)::oid`;
    const [timeout] = await query<{ pid: number }>(url, `SELECT pid ${heartbeat}`);
    // As a process that does not run: its connection ends, and it does not open another one.
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    const taking = holder.query(`SELECT pg_advisory_lock_shared(${0x6b726d70}, hashtext('${id}'))`);
    await query(url, `SELECT pg_terminate_backend(${timeout!.pid})`);
    await taking;
    expect(await query(url, `SELECT pid ${heartbeat}`)).toEqual([]);
    await holder.end();
    // It is back before the others give it up, and still leads.
    await expect.poll(async () => (await query(url, `SELECT pid ${heartbeat}`)).length, PATIENCE).toBe(1);
    expect([a.processes.id, a.processes.leads, b.processes.leads]).toEqual([id, true, false]);
  });

  it('deletes bytes in one process at a time', async () => {
    const all = [await join(), await join(), await join()];
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await sleep(20);
      inside -= 1;
    };
    await Promise.all([...all, ...all].map(({ processes }) => processes.bytesLock.write(work)));
    expect(most).toBe(1);
  });

  it('goes on without one that is lost while others wait for it', async () => {
    const [a, b] = [await join(), await join()];
    const { id } = b.processes;
    let stored: () => void = () => undefined;
    const storing = b.processes.bytesLock.read(async () => {
      await new Promise<void>((resolve) => {
        stored = resolve;
      });
      await write(b, 'late');
    });
    const deleting = a.processes.bytesLock.write(async () => 'deleted');
    await giveUp(b);
    expect(await deleting).toBe('deleted');
    stored();
    await expect(storing).rejects.toMatchObject({ code: 'unavailable' });
    // Until it has noticed, it could store with the ID that it had before.
    await expect.poll(async () => (await canStore(b)) && b.processes.id !== id, PATIENCE).toBe(true);
    // One that deletes is lost: the others need not wait for it any more.
    let deleted: () => void = () => undefined;
    const lost = a.processes.bytesLock.write(async () => {
      await new Promise<void>((resolve) => {
        deleted = resolve;
      });
      a.processes.ensureCurrent();
    });
    await expect.poll(async () => (await holders()).length, PATIENCE).toBe(2);
    await giveUp(a);
    expect(await b.processes.bytesLock.write(async () => 'deleted')).toBe('deleted');
    await expect.poll(() => isCurrent(a), PATIENCE).toBe(false);
    deleted();
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('continues after the server restarts, and after connections were cut', async () => {
    // Nobody is lost, also on a machine that is busy.
    const given = { renew: 3_000, read: 3_000, lost: 30_000, drain: 600_000 };
    const [a, b] = [await join({ given }), await join({ given })];
    const ids = [a, b].map(({ processes }) => processes.id);
    await query(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`,
    );
    await expect.poll(() => write(a, 'cut').then(() => 'stored', String), PATIENCE).toBe('stored');
    await servers.postgres.restart();
    for (const member of [a, b]) {
      await expect
        .poll(() => write(member, 'restarted').then(() => 'stored', String), PATIENCE)
        .toBe('stored');
    }
    expect(await b.processes.bytesLock.write(async () => 'deleted')).toBe('deleted');
    expect([a, b].map(({ processes }) => processes.id)).toEqual(ids);
    expect([a, b].map(({ processes }) => processes.leads)).toEqual([true, false]);
  });

  it('refuses a second process if blobs are in a data folder', async () => {
    const alone = await join({ sharedBlobs: false });
    await expect(join()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'another process uses the database',
    });
    await end(alone);
    await join();
    await expect(join({ sharedBlobs: false })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
