import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestRegistry, releasePath, type TestRegistry } from '../testing/test-registry.js';

const ONE = { kind: 'SetLabels', release: '1.0.0' };
const TWO = { kind: 'SetLabels', release: '2.0.0-rc.1', tags: ['new'] };
const NOTES = '- Adds **labels**.\n\n<script>alert(1)</script> [x](javascript:alert(2))';
const API = '/api/v1/functions/example.com/SetLabels';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
  await registry.publish(ONE);
  expect((await registry.publish(TWO, '', { notes: NOTES })).status).toBe(201);
});
afterEach(() => registry.close());

const json = async (target: string) => (await (await registry.request(target)).json()) as { notes?: string };
const page = async (target: string) =>
  (await registry.request(target, { headers: { Accept: 'text/html' } })).text();

it('are in the API, on the list of releases without anything that runs, and in the feeds', async () => {
  expect((await json(`${API}/releases/2.0.0-rc.1`)).notes).toBe(NOTES);
  expect((await json(`${API}/releases/1.0.0`)).notes).toBeUndefined();
  const list = await page('/functions/example.com/SetLabels/releases');
  expect(list).toContain('Notes of 2.0.0-rc.1');
  expect(list).toContain('<strong>labels</strong>');
  expect(list).not.toMatch(/<script>alert|href="javascript/);
  expect(list).toContain('pre-release');
  expect(list).toMatch(/>compatible<\/a> *<span class="quiet">since 1\.0\.0/);
  for (const feed of ['/functions.atom', '/functions/example.com/SetLabels/releases.atom'])
    expect(await page(feed)).toContain('<summary>- Adds **labels**.');
});

it('never change: other notes for the release are a conflict', async () => {
  expect((await registry.publish(TWO, '', { notes: NOTES })).body.outcome).toBe('unchanged');
  expect((await registry.publish(TWO)).body.outcome).toBe('unchanged');
  for (const [release, message] of [
    [TWO, 'already exists with other notes'],
    [ONE, 'already exists without notes'],
  ] as const) {
    const { status, body } = await registry.publish(release, '', { notes: 'Other.' });
    expect([status, JSON.stringify(body)]).toEqual([409, expect.stringContaining(message)]);
  }
});

it('go with their release', async () => {
  const response = await registry.send('POST', `${releasePath(TWO)}/takedown`, { reason: 'bad' });
  expect(response.status).toBe(200);
  expect(await registry.parts.store.notesAndRuns([{ group: 'example.com', ...TWO }])).toEqual([{}]);
  expect(await page('/functions.atom')).not.toContain('Adds **labels**');
});
