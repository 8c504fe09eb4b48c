import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTest } from '../../apps/cli/src/testing/command-line.js';
import { accessText } from '../../apps/registry/src/testing/access.js';
import { type NameServer, startNameServer } from '../../apps/registry/src/testing/name-server.js';
import { definitionText, releasePath } from '../../apps/registry/src/testing/test-registry.js';
import { ask } from '../interop/servers.js';
import { krmhubHere } from '../run-here.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const PUBLIC_URL = 'http://registry.example';
const { folder, remove } = temporaryFolder();
let names: NameServer;
let registry: RunningRegistry;
beforeAll(async () => {
  names = await startNameServer();
  const settings = { KRMHUB_PUBLIC_URL: PUBLIC_URL, KRMHUB_DNS_SERVERS: names.address };
  registry = await startRegistry(`${folder}/data`, settings);
});
afterAll(async () => {
  await registry?.stop();
  await names?.close();
  remove();
});

const put = async (target: string, body: string) => {
  const headers = { 'content-type': 'application/yaml' };
  expect((await ask(registry, target, { method: 'PUT', headers, body })).status).toBeLessThan(300);
};

it('a claim warns of what others published in the group before, which is shown as of the team from then on', async () => {
  await put('/api/v1/access', accessText('teams: [{name: shop}]'));
  const claim = async (group: string) => {
    names.records.set(`_krmhub.${group}`, [`krmhub-owner registry=${PUBLIC_URL} team=shop`]);
    const args = ['owner', 'claim', group, '--team', 'shop'];
    const { code, stderr } = await krmhubHere(args, { env: registry.env });
    return [code, stderr] as const;
  };
  const before = { group: 'shop.example.com', kind: 'Before', release: '1.0.0' };
  await put(releasePath(before), definitionText(before));
  expect(await claim('shop.example.com')).toEqual([
    0,
    expect.stringMatching(
      /the group already has 1 function\. What is in this registry is now shown as yours.*`krmhub search --group shop\.example\.com`/,
    ),
  ]);
  // A claim that exists is only checked.
  for (const group of ['empty.example.com', before.group])
    expect(await claim(group)).toEqual([0, expect.not.stringContaining('already has')]);
});

it('the command line marks an owner whose proof is missing, until it is there again', async () => {
  const run = async (...args: string[]) => (await krmhubHere(args, { env: registry.env })).stdout;
  const group = 'marked.example.com';
  const record = [`krmhub-owner registry=${PUBLIC_URL} team=shop`];
  await put('/api/v1/access', accessText('teams: [{name: shop}]'));
  names.records.set(`_krmhub.${group}`, record);
  await run('owner', 'claim', group, '--team', 'shop');
  const fn = { group, kind: 'Fn', release: '1.0.0' };
  await put(releasePath(fn), definitionText(fn));
  const shown = async () => [
    await run('owner', 'list', group),
    await run('show', `${group}/Fn`),
    await run('search', '--group', group),
  ];
  for (const text of await shown()) expect(text).not.toContain('missing');
  names.records.delete(`_krmhub.${group}`);
  await run('owner', 'verify', group);
  for (const text of await shown()) expect(text).toMatch(/proof missing since \d{4}-\d\d-\d\d/);
  const terminal = await runTest(['search', '--group', group], { env: registry.env, tty: true });
  expect(terminal.out()).toContain('(proof missing)');
  names.records.set(`_krmhub.${group}`, record);
  await run('owner', 'verify', group);
  for (const text of await shown()) expect(text).not.toContain('missing');
});
