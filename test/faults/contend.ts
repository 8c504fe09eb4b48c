import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type BetterSqlite3 from 'better-sqlite3';
import { driverFor } from '../../apps/registry/src/store/sqlite/driver.js';
import { root } from '../running.js';
import type { ServerUnderFault } from './server.js';
import { whileUnavailable } from './verify.js';
import { definition, type Ledger, publish, releasePath, work } from './workload.js';

/** Another program locks the database: writes get 503, reads continue, and afterwards writes do too. */
export async function lockedDatabase(
  server: ServerUnderFault,
  data: string,
  ledger: Ledger,
): Promise<string[]> {
  const require = createRequire(path.join(root, 'apps/registry/package.json'));
  const Database = require(driverFor(process.versions.node).name) as typeof BetterSqlite3;
  const other = new Database(path.join(data, 'registry.db'));
  const losses: string[] = [];
  const read = async () => {
    const answer = await fetch(`${server.url}/catalogs/default/catalog.yaml`);
    await answer.arrayBuffer();
    return answer.status;
  };
  try {
    const { status: first } = await whileUnavailable(async () => ({ status: await read() }));
    if (first !== 200) throw new Error(`the catalog responds with ${first} before the lock`);
    other.exec('BEGIN EXCLUSIVE');
    const writing = Promise.all(
      Array.from({ length: 4 }, (_, at) =>
        publish(
          server,
          ledger,
          {
            kind: `Locked${at}`,
            release: '1.0.0',
            body: definition(`Locked${at}`, '1.0.0'),
            acknowledged: false,
            yanked: false,
          },
          '',
        ),
      ),
    );
    let done = false;
    void writing.finally(() => {
      done = true;
    });
    let reads = 0;
    let slowest = 0;
    while (!done) {
      const began = performance.now();
      const status = await read();
      if (status !== 200) losses.push(`a read while the database is locked gives ${status}`);
      slowest = Math.max(slowest, performance.now() - began);
      reads += 1;
      await setTimeout(20);
    }
    const statuses = await writing;
    if (statuses.some((status) => status !== 503))
      losses.push(`requests to a locked database get ${statuses}`);
    if (reads < 10)
      losses.push(`only ${reads} reads were answered while writes waited, the slowest in ${slowest} ms`);
  } finally {
    other.close();
  }
  const after = await work(server, ledger, 102);
  if (after.some((status) => status !== 200 && status !== 201)) {
    losses.push(`after the lock, publishing gives ${after}`);
  }
  return [...losses, ...ledger.wrongResponses.splice(0)];
}

/**
 * Many clients publish one release concurrently, each with different bytes: one succeeds, and all others
 * get a conflict.
 */
export async function raceToPublish(
  server: ServerUnderFault,
  racers: number,
  round: number,
): Promise<string[]> {
  const path = releasePath({ kind: `Raced${round}`, release: '1.0.0' });
  // Two clients send each body: those that send the winner's bytes get 200.
  const bodies = Array.from({ length: racers }, (_, at) =>
    definition(`Raced${round}`, '1.0.0', `Racer ${Math.floor(at / 2)}.`),
  );
  const statuses = await Promise.all(
    bodies.map(async (body) => {
      const answer = await fetch(`${server.url}${path}`, {
        method: 'PUT',
        body,
        headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/yaml' },
      });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  const count = (status: number) => statuses.filter((one) => one === status).length;
  if (count(201) !== 1 || count(200) !== 1 || count(409) !== racers - 2) {
    return [
      `${path}: of ${racers} racers ${count(201)} won, ${count(200)} sent the same bytes, ${count(409)} lost`,
    ];
  }
  const winner = bodies[statuses.indexOf(201)];
  const stored = await (await fetch(`${server.url}${path}/definition.yaml`)).text();
  return stored === winner ? [] : [`${path}: other bytes are stored than the winner's`];
}
