import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { signedIn, TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry } from '../../testing/test-registry.js';
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
