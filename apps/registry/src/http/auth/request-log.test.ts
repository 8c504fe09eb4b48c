import { expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { createLog } from '../../log.js';
import { openTestRegistry } from '../../testing/test-registry.js';
import { type LoggedRequest, RequestLog } from './request-log.js';

const request = (over: Partial<LoggedRequest>): LoggedRequest => ({
  requestId: 'r',
  client: '192.0.2.1',
  method: 'GET',
  route: 'unmatched',
  path: '/no-such-path',
  status: 404,
  seconds: 0,
  ...over,
});

function openLog() {
  const lines: Record<string, unknown>[] = [];
  let now = 0;
  let dropped = 0;
  const log = new RequestLog({
    log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
    clock: () => new Date(now),
    onDrop: () => {
      dropped += 1;
    },
  });
  return {
    log,
    lines: (message = 'request') => lines.filter(({ msg }) => msg === message),
    dropped: () => dropped,
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const { loggedRequestsPerMinute: quota } = SERVER_LIMITS;

it('one client cannot fill the log, and cannot keep others or changes out of it', () => {
  const { log, lines, dropped, advance } = openLog();
  for (let at = 0; at < quota + 50; at++) log.write('info', request({}));
  log.write('error', request({ status: 503 }));
  expect([lines().length, dropped()]).toEqual([quota, 51]);
  expect(lines('requests are not logged: one client sends too many requests')).toHaveLength(1);
  log.write('info', request({ method: 'PUT', status: 201 }));
  expect(lines().at(-1)).toMatchObject({ method: 'PUT', status: 201 });
  log.write('info', request({ client: '192.0.2.2' }));
  expect(lines().at(-1)).toMatchObject({ client: '192.0.2.2' });
  advance(60_000);
  log.write('info', request({ path: 'x'.repeat(1_000) }));
  expect(lines().at(-1)).toMatchObject({ client: '192.0.2.1', path: 'x'.repeat(500) });
});

it('has paths without characters that a terminal would run or hide', () => {
  const { log, lines } = openLog();
  log.write('info', request({ path: '/a\u202eb\u009b31mc\u001bd\u2028e' }));
  expect(lines().at(-1)?.path).toMatch(/^\/a.b.31mc.d.e$/);
  expect(lines().at(-1)?.path).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
});

it('one IPv6 site cannot fill the log by its many networks', () => {
  const { log, lines } = openLog();
  for (let network = 0; network < 30; network++) {
    for (let at = 0; at < quota; at++) log.write('info', request({ client: `2001:db8:1:${network}::1` }));
  }
  expect(lines()).toHaveLength(10 * quota);
  log.write('info', request({ client: '2001:db8:2::1' }));
  expect(lines().at(-1)).toMatchObject({ client: '2001:db8:2::1' });
});

it('refused changes use up the quota as reads do: they need no token', () => {
  const { log, lines } = openLog();
  for (let at = 0; at < quota + 50; at++) log.write('info', request({ method: 'PUT', status: 401 }));
  expect(lines()).toHaveLength(quota);
});

it('the line of a failed request has its cause', async () => {
  const registry = await openTestRegistry();
  try {
    registry.parts.store.function = () => Promise.reject(new Error('the disk is on fire'));
    const { status } = await registry.request('/api/v1/functions/example.com/SetLabels');
    expect(status).toBe(500);
    const lines = registry.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(lines.at(-1)).toMatchObject({
      status: 500,
      code: 'internal',
      err: { message: 'the disk is on fire' },
    });
  } finally {
    await registry.close();
  }
});
