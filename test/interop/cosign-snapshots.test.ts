import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { Cosigner, noCosign } from './cosign.js';
import { registryHost, titleWithReason } from './oci-tools.js';

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  const file = path.join(fixtures, 'functions/set-labels/1.0.0.yaml');
  const { code, stderr } = await krmhubHere(['publish', file], { cwd: folder, env: registry.env });
  expect([code, stderr]).toEqual([0, expect.any(String)]);
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

it.skipIf(noCosign !== undefined)(
  titleWithReason('a snapshot is verified by cosign unchanged', noCosign),
  async () => {
    const announced = await fetch(`${registry.url}/.well-known/krmhub-keys.json`);
    const { keys } = (await announced.json()) as { keys: { publicKey: string }[] };
    const user = new Cosigner(folder);
    writeFileSync(user.at('current.pub'), keys[0]!.publicKey);
    const image = `${registryHost(registry)}/catalogs/default:latest`;
    const verified = await user.cosign(
      ...['verify', '--key', 'current.pub', '--insecure-ignore-tlog=true', '--allow-http-registry', image],
    );
    const manifest = await fetch(`${registry.url}/v2/catalogs/default/manifests/latest`, { method: 'HEAD' });
    expect(verified).toContain(manifest.headers.get('docker-content-digest'));
  },
);
