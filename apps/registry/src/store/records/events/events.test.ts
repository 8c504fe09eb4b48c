import { expect, it } from 'vitest';
import { openConnection } from '../../sqlite/connection.js';
import { appendEvent } from './append-event.js';
import { eventRows } from './events.js';

const event = { type: 'release.yanked', at: '2030-01-01T00:00:00.000Z', by: 'ci' } as const;

it('are read when they are durable: after a power cut, another event could have the number', async () => {
  const connection = openConnection(':memory:');
  let synced = () => {};
  const durable = new Promise<void>((resolve) => {
    synced = resolve;
  });
  const store = eventRows({ ...connection.sql, durable: () => durable });
  await connection.sql.write(() => appendEvent(event));
  const read: string[] = [];
  const reads = [
    store.events(0, 10).then(() => read.push('events')),
    store.revocations(0, 10).then(() => read.push('revocations')),
    store.lastEvent().then(() => read.push('last event')),
  ];
  await connection.read(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toEqual([]);
  synced();
  await Promise.all(reads);
  expect(read.sort()).toEqual(['events', 'last event', 'revocations']);
  connection.close();
});
