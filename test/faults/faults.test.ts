import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finished, spawn } from '../processes.js';
import { root, temporaryFolder } from '../running.js';
import { canMount, fillDisk } from './disk.js';
import { ERRORS, FaultInjector } from './fail.js';
import { Killer } from './kill.js';
import { checkPublishOrder, orderViolations } from './order.js';
import { allPoints, FAILING, type Point, spreadPoints } from './points.js';
import { type Call, canTrace } from './strace.js';
import { definition, LARGE, type Sent } from './workload.js';

/** A sample of `npm run faults`, evenly over all phases: see docs/internals/fault-injection.md. */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const traces = canTrace();
const without = 'strace is not installed, or may not trace';

describe.skipIf(!traces)('one fault at a time', () => {
  let points: Point[];
  beforeAll(async () => {
    points = await allPoints(path.join(folder, 'points'));
  }, 600_000);

  it('can be injected at hundreds of points', () => {
    const places = (phase: Point['phase'], call: string) =>
      points.filter((point) => point.phase === phase && point.call === call).length;
    // A round publishes two releases, and builds a catalog, which is all in the database. READMEs are blobs.
    expect(places('main', 'pwrite64')).toBeGreaterThan(50);
    expect(places('pool', 'fdatasync')).toBeGreaterThanOrEqual(1);
    expect(places('cut', 'pwrite64')).toBeGreaterThan(20);
    expect(places('cut', 'fsync')).toBeGreaterThanOrEqual(1);
    expect(places('pool', 'rename')).toBeGreaterThanOrEqual(2);
    expect(places('pool', 'fsync')).toBeGreaterThanOrEqual(4);
    expect(places('start', 'mkdir')).toBeGreaterThan(8);
    // One write for each page of the database that changed since the last checkpoint.
    expect(places('checkpoint', 'pwrite64')).toBeGreaterThan(100);
    expect(places('checkpoint', 'fsync')).toBeGreaterThanOrEqual(1);
  });

  it('as a kill loses nothing that was acknowledged', async () => {
    const killer = new Killer(path.join(folder, 'kill'));
    const outcomes = [];
    for (const point of spreadPoints(
      points.filter(({ phase }) => phase !== 'start'),
      16,
    )) {
      outcomes.push(await killer.kill(point));
    }
    expect(outcomes.flatMap(({ fault, losses }) => losses.map((loss) => `${fault}: ${loss}`))).toEqual([]);
    // A point that a run does not reach does not count: most are reached.
    expect(outcomes.filter(({ injected }) => injected > 0).length).toBeGreaterThan(8);
  }, 900_000);

  it('as a kill of the first start leaves a folder that a second start completes', async () => {
    const killer = new Killer(path.join(folder, 'start'));
    for (const point of spreadPoints(
      points.filter(({ phase }) => phase === 'start'),
      7,
    )) {
      const { fault, losses } = await killer.kill(point);
      expect([fault, losses]).toEqual([fault, []]);
    }
  }, 900_000);

  it.each(ERRORS)(
    'as %s gets an error response, loses nothing, and has no effect afterwards',
    async (error) => {
      const saboteur = new FaultInjector(path.join(folder, error));
      const failing = points.filter(({ phase, call }) => phase !== 'start' && FAILING[phase].includes(call));
      let injected = 0;
      for (const point of spreadPoints(failing, 10)) {
        const { fault, injected: number, losses } = await saboteur.fail(point, error);
        expect([fault, losses]).toEqual([fault, []]);
        injected += number;
      }
      expect(injected).toBeGreaterThan(5);
      expect(await saboteur.end()).toEqual([]);
    },
  );
});

it.skipIf(traces)('as a kill at any time loses nothing that was acknowledged', async () => {
  const killer = new Killer(path.join(folder, 'timed'));
  for (let delay = 0; delay < 200; delay += 40) {
    const { fault, losses } = await killer.killAfter(delay);
    expect([fault, losses]).toEqual([fault, []]);
  }
});

describe('the order in which a publish becomes durable', () => {
  const sent: Sent = {
    kind: 'A',
    release: '1.0.0',
    body: definition('A', '1.0.0') + LARGE,
    acknowledged: true,
    yanked: false,
  };

  it.skipIf(!traces)(`bytes, name, row, answer${traces ? '' : `: ${without}`}`, async () => {
    const scratch = path.join(folder, 'order');
    mkdirSync(scratch);
    expect(await checkPublishOrder(scratch, 6)).toEqual([]);
  });

  it('is read from a trace, and violations are found', async () => {
    const { sha256 } = await import('@krmhub/schema');
    const digest = sha256(sent.body).slice(7);
    const step = {
      write: ['write', `9</data/blobs/unfinished/x>, "…", 9) = 9`],
      sync: ['fsync', '9</data/blobs/unfinished/x>) = 0'],
      made: ['mkdir', `"/data/blobs/sha256/${digest.slice(0, 2)}", 0777) = 0`],
      listed: ['fsync', '9</data/blobs/sha256>) = 0'],
      rename: [
        'rename',
        `"/data/blobs/unfinished/x", "/data/blobs/sha256/${digest.slice(0, 2)}/${digest}") = 0`,
      ],
      folder: ['fsync', `9</data/blobs/sha256/${digest.slice(0, 2)}>) = 0`],
      row: ['pwrite64', `7</data/registry.db-wal>, "${digest}", 4096, 0) = 4096`],
      commit: ['fsync', '7</data/registry.db-wal>) = 0'],
      answer: ['writev', `8<socket:[1]>, "${digest}") = 99`],
    } as const;
    const trace = (...names: (keyof typeof step)[]): Call[] =>
      names.map((name, at) => ({
        thread: '1',
        name: step[name][0],
        args: step[name][1],
        began: at,
        ended: at,
        failed: false,
      }));
    const inOrder = [
      'write',
      'sync',
      'made',
      'listed',
      'rename',
      'folder',
      'row',
      'commit',
      'answer',
    ] as const;
    expect(orderViolations(trace(...inOrder), sent)).toEqual([]);
    const without = (left: keyof typeof step) => trace(...inOrder.filter((name) => name !== left));
    expect(orderViolations(without('sync'), sent)).toEqual([expect.stringContaining('before it is synced')]);
    expect(orderViolations(without('folder'), sent)).toEqual([
      expect.stringContaining('before its folder is synced'),
    ]);
    expect(orderViolations(without('listed'), sent)).toEqual([
      expect.stringContaining('before its new folder is durable'),
    ]);
    expect(orderViolations(without('commit'), sent)).toEqual([
      expect.stringContaining('before its row is synced'),
    ]);
    expect(orderViolations(without('rename'), sent)).toEqual([expect.stringContaining('is not renamed')]);
    expect(
      orderViolations(trace('write', 'rename', 'sync', 'folder', 'row', 'commit', 'answer'), sent),
    ).toEqual([expect.stringContaining('gets its name before it is synced')]);
    expect(
      orderViolations(trace('write', 'sync', 'rename', 'row', 'folder', 'commit', 'answer'), sent),
    ).toEqual([expect.stringContaining('before its folder is synced')]);
    expect(
      orderViolations(trace('write', 'sync', 'rename', 'folder', 'row', 'answer', 'commit'), sent),
    ).toEqual([expect.stringContaining('acknowledged before its row')]);
  });
});

const mounts = canMount(folder);
it.skipIf(!mounts)(
  `a full disk gives 507, and reads continue${mounts ? '' : ': cannot mount a disk here'}`,
  async () => {
    const outcomes = await fillDisk(folder, [0, 4_096, 20_480, 65_536, 131_072]);
    expect(outcomes.flatMap(({ fault, losses }) => losses.map((loss) => `${fault}: ${loss}`))).toEqual([]);
    expect(outcomes).toHaveLength(6);
  },
);

it('are injected by the command, which also locks the database and lets 50 writers race', async () => {
  const command = [
    'test/contracts/run-source.mjs',
    'test/faults/main.ts',
    '--count',
    '8',
    '--scratch',
    folder,
  ];
  const { code, stdout, stderr } = await finished(
    spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  expect({ code, stderr, stdout }).toEqual({ code: 0, stderr: '', stdout: expect.any(String) });
  expect(stdout).toContain('a locked database, and 20 times 50 racers: as promised');
  expect(stdout).toContain('\n0 losses\n');
}, 900_000);
