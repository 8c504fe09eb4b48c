import { afterEach, beforeEach, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const lines = () =>
  registry.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request') as {
    method: string;
    status: number;
  }[];

it('one client cannot fill the log, and cannot keep changes out of it', async () => {
  const { loggedRequestsPerMinute: quota } = SERVER_LIMITS;
  for (let at = 0; at < quota + 50; at++) {
    expect((await registry.request(`/no-such-path/${at}`)).status).toBe(404);
  }
  expect(lines()).toHaveLength(quota);
  const warnings = registry.logged.filter((line) => line.includes('requests are not logged'));
  expect(warnings).toHaveLength(1);
  expect((await registry.publish({ kind: 'SetLabels', release: '1.0.0' }, '')).status).toBe(201);
  expect(lines().at(-1)).toMatchObject({ method: 'PUT', status: 201 });
  const metrics = await (await registry.request('/metrics')).text();
  expect(metrics).toMatch(/krmhub_log_lines_dropped_total\{reason="client-quota"\} 50\n/);
  registry.advance(60_000);
  await registry.request('/no-such-path');
  expect(lines().at(-1)).toMatchObject({ method: 'GET', status: 404 });
});

it('the line of a failed request has its cause', async () => {
  registry.parts.store.function = () => Promise.reject(new Error('the disk is on fire'));
  const { status } = await registry.request('/api/v1/functions/example.com/SetLabels');
  expect(status).toBe(500);
  expect(lines().at(-1)).toMatchObject({
    status: 500,
    code: 'internal',
    err: { message: 'the disk is on fire' },
  });
});
