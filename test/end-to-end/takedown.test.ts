import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** A release with a secret is served everywhere, and nowhere once its takedown was acknowledged. */

const MARKER = 'qz7secretx';
const GROUP = 'functions.example.com';
const NAME = `${GROUP}/SetLabels@1.1.0`;
const RELEASES = `/api/v1/functions/${GROUP}/SetLabels/releases`;

const { folder, remove } = temporaryFolder();
const data = path.join(folder, 'data');
let registry: RunningRegistry;
/** Of the release with the secret. */
let definition: string;
let serial: number;

const run = (...args: string[]) => krmhubHere(args, { cwd: folder, env: registry.env });
async function does(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}
const ask = (target: string, init: RequestInit = {}) =>
  fetch(registry.url + target, {
    ...init,
    headers: { authorization: `Bearer ${registry.token}`, ...init.headers },
  });
/** Two requests: they may reach different processes. */
async function askTwice(target: string): Promise<{ status: number; text: string }[]> {
  const answers = [];
  for (let time = 0; time < 2; time++) {
    const answer = await ask(target, { headers: { accept: `${MEDIA_TYPES.image}, */*` } });
    answers.push({ status: answer.status, text: await answer.text() });
  }
  return answers;
}

beforeAll(async () => {
  registry = await startRegistry(data);
  const functions = path.join(fixtures, 'functions/set-labels');
  cpSync(path.join(functions, '1.0.0.yaml'), path.join(folder, '1.0.0.yaml'));
  definition = readFileSync(path.join(functions, '1.1.0.yaml'), 'utf8').replace(
    'Set labels on every',
    `Set ${MARKER} on every`,
  );
  expect(definition).toContain(MARKER);
  writeFileSync(path.join(folder, '1.1.0.yaml'), definition);
  writeFileSync(path.join(folder, 'README.md'), `# ${MARKER}\n${'A large file is a blob.\n'.repeat(10_000)}`);
  await does('publish', '1.0.0.yaml', '--release', '1.0.0');
  await does('publish', '1.1.0.yaml', '--release', '1.1.0', '--readme', 'README.md');
  await does('copy', artifact(`functions/${GROUP}/setlabels:1.1.0`), artifact('team/copied:1.1.0'));
  const { snapshots } = (await (await ask('/catalogs/default/snapshots')).json()) as {
    snapshots: { serial: number }[];
  };
  serial = snapshots[0]!.serial;
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const artifact = (reference: string) => `${new URL(registry.url).host}/${reference}`;
/** Where the secret is, and the status there after the takedown. */
const places = (): [string, number][] => [
  [`${RELEASES}/1.1.0/definition.yaml`, 410],
  [`${RELEASES}/1.1.0/readme.md`, 410],
  [`/catalogs/default/snapshots/${serial}/catalog.yaml`, 410],
  [`/v2/functions/${GROUP}/setlabels/blobs/${sha256(definition)}`, 410],
  [`/v2/team/copied/blobs/${sha256(definition)}`, 404],
];
/** Where another release is shown instead. */
const others = () => [
  '/catalogs/default/catalog.yaml',
  '/catalogs/default/catalog.json',
  `/catalogs/default/functions/${GROUP}/SetLabels.yaml`,
  '/api/v1/functions?q=labels',
  `/api/v1/functions/${GROUP}/SetLabels`,
  `/functions/${GROUP}/SetLabels`,
];

it('is served at many addresses', async () => {
  for (const target of [...places().map(([place]) => place), ...others()]) {
    // A process that did not publish it shows it some milliseconds later.
    await expect
      .poll(async () =>
        (await askTwice(target)).map(({ status, text }) => [target, status, text.includes(MARKER)]),
      )
      .toEqual([1, 2].map(() => [target, 200, true]));
  }
  expect(JSON.parse(await does('search', MARKER, '-o', 'json'))).toMatchObject({ total: 1 });
});

it('is served nowhere when its takedown is acknowledged', async () => {
  const told = JSON.parse(await does('takedown', NAME, '--reason', 'leaked', '--yes', '-o', 'json'));
  expect(told).toMatchObject({ erased: true });
  for (const [target, expected] of places()) {
    for (const { status, text } of await askTwice(target)) {
      expect([target, status, text.includes(MARKER)]).toEqual([target, expected, false]);
    }
  }
  for (const target of others()) {
    for (const { status, text } of await askTwice(target)) {
      expect([target, text.includes(MARKER)]).toEqual([target, false]);
      // Between the takedown and the next snapshot.
      expect([200, 503]).toContain(status);
    }
    await expect.poll(async () => (await askTwice(target)).map(({ status }) => status)).toEqual([200, 200]);
  }
  expect(JSON.parse(await does('search', MARKER, '-o', 'json'))).toMatchObject({ total: 0 });
  expect(await (await ask('/catalogs/default/catalog.yaml')).text()).toContain('set-labels:v1.0.0');
});

it('cannot come back, in any place', async () => {
  for (let time = 0; time < 2; time++) {
    const refused = await run('publish', '1.1.0.yaml', '--release', '1.1.0');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('taken down')]);
    const pushed = await ask(`/v2/team/other/blobs/uploads/?digest=${sha256(definition)}`, {
      method: 'POST',
      body: definition,
    });
    expect(pushed.status).toBeGreaterThanOrEqual(400);
  }
  const { revocations } = (await (await ask('/api/v1/revocations')).json()) as {
    revocations: { type: string }[];
  };
  expect(revocations.map(({ type }) => type)).toContain('release.taken-down');
  const remaining = await askTwice(`${RELEASES}/1.0.0/definition.yaml`);
  expect(remaining.map(({ status }) => status)).toEqual([200, 200]);
});

it('leaves no damage, and stays away after a restart', async () => {
  await does('fsck', '--data', data);
  expect(await registry.stop()).toBe(0);
  registry = await startRegistry(data);
  for (const [target, expected] of places()) {
    for (const { status, text } of await askTwice(target)) {
      expect([target, status, text.includes(MARKER)]).toEqual([target, expected, false]);
    }
  }
});
