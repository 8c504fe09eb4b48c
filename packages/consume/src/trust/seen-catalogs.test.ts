import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { TrustPorts } from '../ports.js';
import { rememberSnapshot, seenCatalogs } from './seen-catalogs.js';

it('stores the serials of two catalogs that are verified at the same time', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'seen-'));
  const io = { env: { XDG_CONFIG_HOME: home, HOME: home }, now: () => new Date() } as unknown as TrustPorts;
  const urls = Array.from({ length: 8 }, (_, at) => `https://a.example/catalogs/c${at}`);
  await Promise.all(urls.map((url) => rememberSnapshot(io, url, { serial: 5, digest: 'sha256:00' })));
  expect(Object.keys(await seenCatalogs(io)).sort()).toEqual(urls);
});
