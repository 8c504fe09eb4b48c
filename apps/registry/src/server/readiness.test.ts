import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import type { BuilderStatus } from '../catalogs/build/catalog-builder.js';
import { SERVER_LIMITS } from '../limits.js';
import { readinessChecks } from './readiness.js';

const log = pino({ level: 'silent' });
const check = async () => undefined;
const works = { store: { check }, blobs: { check }, artifacts: { check }, log, shutdown: { begun: false } };
const caughtUp: BuilderStatus = { caughtUp: true, failing: [] };

it('fails while the search index of the process is being built', async () => {
  const detail = 'the search index of this process is being built: it has 7 functions so far';
  const readiness = readinessChecks({
    ...works,
    snapshotBuilder: { status: () => caughtUp },
    searchProblem: async () => detail,
  });
  const { status, checks } = await readiness();
  expect(status).toBe('failing');
  expect(checks.find(({ name }) => name === 'search')).toEqual({ name: 'search', status: 'failing', detail });
  expect(checks.filter((one) => one.status === 'failing').length).toBe(1);
});

it('is ready as soon as the search index is built, and reads that seldom then', async () => {
  let detail: string | undefined = 'the search index of this process is being built';
  let read = 0;
  const readiness = readinessChecks({
    ...works,
    snapshotBuilder: { status: () => caughtUp },
    searchProblem: async () => {
      read += 1;
      return detail;
    },
  });
  expect((await readiness()).status).toBe('failing');
  detail = undefined;
  for (let turn = 0; turn < 3; turn += 1) expect((await readiness()).status).toBe('ok');
  expect(read).toBe(2);
});

it('fails if the search index cannot be read', async () => {
  const readiness = readinessChecks({
    ...works,
    snapshotBuilder: { status: () => caughtUp },
    searchProblem: () => Promise.reject(new Error('database disk image is malformed')),
  });
  expect((await readiness()).checks.find(({ name }) => name === 'search')).toEqual({
    name: 'search',
    status: 'failing',
    detail: 'the search index cannot be read; see the log',
  });
});

it('does not check search where it is part of the database', async () => {
  const { status, checks } = await readinessChecks({
    ...works,
    snapshotBuilder: { status: () => caughtUp },
  })();
  expect(status).toBe('ok');
  expect(checks.map(({ name }) => name)).toEqual(['store', 'blobs', 'catalogs']);
});

it('is ready once every catalog that can be built has a snapshot, and stays so for new ones', async () => {
  let missing = ['broken', 'default'];
  const failing = [{ catalog: 'broken', message: 'its recipe is invalid' }];
  const readiness = readinessChecks({
    ...works,
    snapshotBuilder: { status: () => ({ ...caughtUp, failing }) },
    missingCatalogs: () => missing,
  });
  const catalogs = async () => (await readiness()).checks.find(({ name }) => name === 'catalogs');
  const notReady = (detail: string) => ({ name: 'catalogs', status: 'failing', detail });
  expect(await catalogs()).toEqual(notReady('catalogs without a snapshot: default'));
  missing = ['broken'];
  expect(await catalogs()).toMatchObject({ status: 'ok' });
  missing = ['broken', 'new'];
  expect(await catalogs()).toMatchObject({ status: 'ok' });
});

it('does not run what is excluded', async () => {
  const ran: string[] = [];
  const noting = (name: string) => ({ check: async () => void ran.push(name) });
  const readiness = readinessChecks({
    ...works,
    store: noting('store'),
    blobs: noting('blobs'),
    artifacts: noting('artifacts'),
    snapshotBuilder: { status: () => ({ ...caughtUp, caughtUp: false }) },
  });
  const { status, checks } = await readiness(['store', 'blobs', 'catalogs']);
  expect([status, checks, ran]).toEqual(['ok', [], []]);
  expect((await readiness(['blobs'])).checks.map((one) => [one.name, one.status])).toEqual([
    ['store', 'ok'],
    ['catalogs', 'failing'],
  ]);
  expect(ran).toEqual(['store']);
});

it('fails if the store does not answer, and asks it once until it does', async () => {
  vi.useFakeTimers();
  let asked = 0;
  let answer: () => void = () => undefined;
  const store = {
    check: () => {
      asked += 1;
      return new Promise<void>((resolve) => {
        answer = resolve;
      });
    },
  };
  const readiness = readinessChecks({ ...works, store, snapshotBuilder: { status: () => caughtUp } });
  const status = async () => {
    const checked = readiness();
    await vi.advanceTimersByTimeAsync(SERVER_LIMITS.readinessCheckMilliseconds + 1);
    return (await checked).checks.map((one) => [one.name, one.status]);
  };
  try {
    const failing = [
      ['store', 'failing'],
      ['blobs', 'ok'],
      ['catalogs', 'ok'],
    ];
    expect([await status(), await status()]).toEqual([failing, failing]);
    expect(asked).toBe(1);
    answer();
    await vi.advanceTimersByTimeAsync(1);
    const again = status();
    answer();
    expect((await again)[0]).toEqual(['store', 'ok']);
    expect(asked).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});
