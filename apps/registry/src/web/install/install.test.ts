import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';
import { readHashed } from './executables.js';
import { packProgram, readProgramFiles } from './pack-program.js';
import { programVersion } from './program-folder.js';

const { version } = programVersion();
const linux = `krmhub-${version}-linux-x64`;
const windows = `krmhub-${version}-win-x64.exe`;
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-executables-'));
let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { executablesFolder: folder } });
});
afterAll(async () => {
  await registry.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  for (const name of [linux, `${linux}.gz`, windows, 'checksums.txt', 'checksums.txt.sigstore.json'])
    rmSync(path.join(folder, name), { force: true });
});

const hex = (bytes: Uint8Array) => sha256(bytes).slice('sha256:'.length);
/** Writes files, and the list of the digests of these or others. */
function offer(files: Record<string, Uint8Array>, listed = files, more = '') {
  for (const [name, bytes] of Object.entries(files)) writeFileSync(path.join(folder, name), bytes);
  const lines = Object.entries(listed).map(([name, bytes]) => `${hex(bytes)}  ${name}\n`);
  writeFileSync(path.join(folder, 'checksums.txt'), lines.join('') + more);
}
const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
  registry.request(`/cli/${name}`, { method, headers });
const bytesOf = async (name: string, headers?: Record<string, string>) =>
  Buffer.from(await (await get(name, headers)).arrayBuffer());
const page = async () => (await registry.request('/install', { headers: { Accept: 'text/html' } })).text();
const executable = Buffer.alloc(700_000, 'an executable ');

describe('the npm package', () => {
  it('has the bytes that npm run package writes, and its digest on the page', async () => {
    const packed = packProgram(readProgramFiles()!);
    const served = await get(`krmhub-${version}.tgz`);
    expect(served.headers.get('content-type')).toBe('application/gzip');
    expect(served.headers.get('etag')).toBe(`"${sha256(packed)}"`);
    expect(sha256(new Uint8Array(await served.arrayBuffer()))).toBe(sha256(packed));
    const text = await page();
    expect(text).toContain(hex(packed));
    expect(text).toContain(`/cli/krmhub-${version}.tgz`);
    expect((await bytesOf('checksums.txt')).toString()).toBe(`${hex(packed)}  krmhub-${version}.tgz\n`);
  });
});

describe('executables', () => {
  it('are offered with their digests, and their bytes are those', async () => {
    offer({ [linux]: executable, [windows]: Buffer.from('MZ') });
    const text = await page();
    for (const part of [hex(executable), linux, windows, 'sha256sum --check', 'Linux, x86-64'])
      expect(text).toContain(part);
    const response = await get(linux);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-length')).toBe('700000');
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${linux}"`);
    expect(Buffer.from(await response.arrayBuffer()).equals(executable)).toBe(true);
    const etag = response.headers.get('etag')!;
    expect((await get(linux, { 'If-None-Match': etag })).status).toBe(304);
    const head = await get(linux, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '700000']);
    const lines = (await bytesOf('checksums.txt')).toString();
    expect(lines).toContain(`${hex(executable)}  ${linux}\n`);
  });

  it('are sent compressed to clients that accept it', async () => {
    const compressed = gzipSync(executable);
    offer({ [linux]: executable, [`${linux}.gz`]: compressed });
    const response = await get(linux, { 'Accept-Encoding': 'br, gzip' });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(gunzipSync(await response.arrayBuffer()).equals(executable)).toBe(true);
    expect((await bytesOf(linux)).equals(executable)).toBe(true);
    expect((await get(`${linux}.gz`)).status).toBe(404);
  });

  it('are not offered if the list has another digest or none, and the page says so', async () => {
    offer({ [linux]: executable, [windows]: Buffer.from('MZ') }, { [linux]: Buffer.from('other') });
    const text = await page();
    expect(text).toContain(`${linux} differs from its digest in checksums.txt`);
    expect(text).toContain(`${windows} is not in checksums.txt`);
    expect(text).not.toMatch(new RegExp(`href="/cli/(?:${linux}|${windows})"`));
    for (const name of [linux, windows]) expect((await get(name)).status).toBe(404);
  });

  it('are not sent after they changed', async () => {
    offer({ [linux]: executable });
    expect((await get(linux)).status).toBe(200);
    writeFileSync(path.join(folder, linux), Buffer.alloc(700_000, 'hostile '));
    expect((await get(linux)).status).toBe(404);
    offer({ [linux]: executable });
    expect((await bytesOf(linux)).equals(executable)).toBe(true);
  });

  it('are cut off when they change while they are sent', async () => {
    const file = path.join(folder, 'changed');
    writeFileSync(file, executable);
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file);
    const pieces = readHashed({ file, identity: [dev, ino, size, mtimeMs, ctimeMs].join(' ') });
    expect((await pieces.next()).done).toBe(false);
    truncateSync(file, 300_000);
    await expect(pieces.next()).rejects.toThrow('was changed');
    rmSync(file);
  });

  it('have the signature of the operator if the list has everything that is offered', async () => {
    const packed = packProgram(readProgramFiles()!);
    const bundle = Buffer.from('{"mediaType": "a bundle"}');
    writeFileSync(path.join(folder, 'checksums.txt.sigstore.json'), bundle);
    offer({ [linux]: executable }, { [linux]: executable, [`krmhub-${version}.tgz`]: packed }, '# more\n');
    expect((await bytesOf('checksums.txt')).toString()).toMatch(/# more\n$/);
    expect((await bytesOf('checksums.txt.sigstore.json')).equals(bundle)).toBe(true);
    expect(await page()).toContain('verify it');
    offer({ [linux]: executable });
    expect((await bytesOf('checksums.txt')).toString()).toContain(hex(packed));
    expect((await get('checksums.txt.sigstore.json')).status).toBe(404);
    expect(await page()).toContain('It is not signed');
  });

  it('are the only files of the folder that are served', async () => {
    writeFileSync(path.join(folder, 'secret'), 'secret');
    offer({});
    for (const name of ['secret', '%2e%2e%2fpackage.json', '..%2fpackage.json', '', 'krmhub', `${linux}%00`])
      expect([name, (await get(name)).status]).toEqual([name, 404]);
    const text = await page();
    expect(text).toContain('This registry has no executables');
    expect(text).toContain('/docs/install#offer-executables');
    rmSync(path.join(folder, 'secret'));
  });
});
