import { createHistogram } from 'node:perf_hooks';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addMainThreadDelay, countUpTo } from './main-thread-delay.js';

it('counts the measurements up to a bound, without their interval of 10 ms', () => {
  const measured = createHistogram();
  for (let at = 1; at <= 1_000; at++) measured.record(Math.round((10 + at) * 1e6));
  for (const milliseconds of [1, 10, 50, 500, 1_000]) {
    const counted = countUpTo(measured, milliseconds / 1_000);
    // The runtime keeps three digits of each measurement.
    expect(Math.abs(counted - milliseconds)).toBeLessThanOrEqual(Math.max(1, milliseconds / 200));
  }
  expect(countUpTo(measured, 0)).toBe(0);
  expect(countUpTo(measured, 5)).toBe(1_000);
  expect(countUpTo(createHistogram(), 1)).toBe(0);
});

it('adds a histogram that has the delay by a long piece of work', async () => {
  const register = new Registry();
  addMainThreadDelay(register);
  const value = async (line: string) => {
    const text = await register.metrics();
    return Number(
      text
        .split('\n')
        .find((one) => one.startsWith(`${line} `))
        ?.split(' ')[1],
    );
  };
  const name = 'krmhub_main_thread_delay_seconds';
  await expect.poll(() => value(`${name}_count`), { timeout: 60_000 }).toBeGreaterThan(0);
  const until = performance.now() + 300;
  while (performance.now() < until);
  await expect
    .poll(async () => (await value(`${name}_count`)) - (await value(`${name}_bucket{le="0.2"}`)), {
      timeout: 60_000,
    })
    .toBeGreaterThan(0);
  expect(await value(`${name}_bucket{le="+Inf"}`)).toBeGreaterThan(0);
  expect(await value(`${name}_sum`)).toBeGreaterThan(0.2);
});
