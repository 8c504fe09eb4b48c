import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Problem } from '@krmhub/api/model';
import { expect, it } from 'vitest';
import { signedIn, TestBrowser } from '../../testing/operator-session.js';
import { AUDIENCE, GITHUB, RUN, TestIssuer } from '../../testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { backupRegistry } from './backup.js';
import { restoreRegistry } from './restore.js';

it('signs everybody out: a session that ended after the backup does not begin again', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-'));
  try {
    const registry = await openTestRegistry();
    const { cookie } = await signedIn(registry, { scopes: ['admin'] });
    await registry.parts.close();
    const [out, dataFolder] = [path.join(folder, 'backup'), path.join(folder, 'restored')];
    await backupRegistry({ dataFolder: registry.folder, out, now: new Date() });
    rmSync(registry.folder, { recursive: true });
    await restoreRegistry({ backup: out, dataFolder, takedowns: [], now: new Date() });
    const restored = await openTestRegistry({ folder: dataFolder });
    const browser = Object.assign(new TestBrowser(restored), { cookie });
    expect((await browser.get('/operate/tokens')).status).toBe(303);
    await restored.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('takes no identity token that may have been exchanged after the backup, and takes newer ones', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-'));
  const github = await TestIssuer.create(GITHUB);
  const options = { config: { publicUrl: AUDIENCE }, fetchIssuer: github.fetch };
  const exchange = async (registry: TestRegistry, token: string) => {
    const { status, body } = await registry.send<Problem>('POST', '/api/v1/oidc/token', { token }, '');
    return [status, body.detail];
  };
  try {
    const registry = await openTestRegistry(options);
    const settings = { repository: 'example/functions', workflow: 'release.yml' };
    const wanted = { group: 'example.com', provider: 'github', settings };
    expect((await registry.send('POST', '/api/v1/trusted-publishers', wanted)).status).toBe(201);
    const [out, dataFolder] = [path.join(folder, 'backup'), path.join(folder, 'restored')];
    await backupRegistry({ dataFolder: registry.folder, out, now: new Date() });
    const token = await github.sign(RUN, { now: new Date() });
    expect((await exchange(registry, token))[0]).toBe(201);
    await registry.parts.close();
    rmSync(registry.folder, { recursive: true });
    await restoreRegistry({ backup: out, dataFolder, takedowns: [], now: new Date() });
    const restored = await openTestRegistry({ ...options, folder: dataFolder });
    const refused = [401, expect.stringContaining('was restored from a backup')];
    expect(await exchange(restored, token)).toEqual(refused);
    // The clock of the provider can be ahead.
    restored.advance(30_000);
    expect(await exchange(restored, await github.sign(RUN, { now: restored.parts.clock() }))).toEqual(
      refused,
    );
    restored.advance(60_000);
    const newer = await github.sign(RUN, { now: restored.parts.clock() });
    expect((await exchange(restored, newer))[0]).toBe(201);
    expect(await exchange(restored, newer)).toEqual([401, expect.stringContaining('was exchanged before')]);
    await restored.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
