import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { computeDigest, MEDIA_TYPES, type OciClient } from '@krmhub/oci';
import { lint } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOciClient } from '../registry/connect-oci.js';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';
import { pushTestImage } from '../testing/images.js';

const registry = fileRegistry();
let folder: string;
let host: string;
let client: OciClient;
beforeAll(() => {
  host = new URL(registry.url).host;
  client = createOciClient({ env: registry.env });
});
beforeEach(() => {
  folder = temporaryFolder();
});

const run = (...args: string[]) =>
  runTest(args, { cwd: folder, env: { ...registry.env, KRMHUB_CACHE: path.join(folder, '.cache') } });
const read = (name: string) => readFile(path.join(folder, name), 'utf8');
const write = (name: string, text: string) => writeFile(path.join(folder, name), text);
const push = (content: string, tag = 'v1.0.0') =>
  pushTestImage(client, { host, repository: 'images/set-owner', tag }, content);

/** Pushes an index of two images, as `docker buildx` does, with an attestation. */
async function pushIndex(tag: string): Promise<string> {
  const images = [await push('a', 'amd64'), await push('b', 'arm64'), await push('c', 'attested')];
  const platforms = ['linux/amd64', 'linux/arm64', 'unknown/unknown'];
  const manifests = [];
  for (const [index, digest] of images.entries()) {
    const { bytes, mediaType } = await client.manifest({
      registry: host,
      repository: 'images/set-owner',
      digest,
    });
    const [os, architecture] = platforms[index]!.split('/');
    manifests.push({ mediaType, digest, size: bytes.byteLength, platform: { os, architecture } });
  }
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests }));
  await client.putManifest({ registry: host, repository: 'images/set-owner', tag }, index, MEDIA_TYPES.index);
  return computeDigest(index);
}

const hex = (digest: string) => digest.slice('sha256:'.length);

describe('pin, of an image', () => {
  beforeEach(async () => {
    await run('init', 'example.com/SetOwner', '--language', 'go');
  });

  it('writes the digest of the index of all platforms, and changes nothing else', async () => {
    const digest = await pushIndex('v2.0.0');
    const before = await read('set-owner/definition.yaml');
    const image = `${host}/images/set-owner:v2.0.0`;
    await chmod(path.join(folder, 'set-owner/definition.yaml'), 0o600);
    const io = await run('pin', 'set-owner', '--image', image);
    expectEnd(io, 0, `${image} is ${digest} (linux/amd64, linux/arm64)\nwrote set-owner/definition.yaml\n`);
    const after = await read('set-owner/definition.yaml');
    expect(after).toBe(
      before.replace(
        /^( +)image: .*$/m,
        (_, indent) => `${indent}image: ${image}\n${indent}sha256: ${hex(digest)}`,
      ),
    );
    expect((await stat(path.join(folder, 'set-owner/definition.yaml'))).mode & 0o777).toBe(0o600);
    expect(lint(Buffer.from(after), { file: 'a' }).diagnostics.map(({ code }) => code)).not.toContain(
      'image/unpinned-release',
    );
    const again = await run('pin', 'set-owner/definition.yaml', '-o', 'json');
    expectEnd(again, 0, 'unchanged set-owner/definition.yaml');
    expect(JSON.parse(again.out())).toEqual({
      file: 'set-owner/definition.yaml',
      changed: false,
      pins: [{ reference: image, digest, platforms: ['linux/amd64', 'linux/arm64'] }],
    });
  });

  it('replaces an earlier digest, and prints the change without writing it', async () => {
    const image = `${host}/images/set-owner:v1.0.0`;
    await push('first');
    await run('pin', 'set-owner', '--image', image);
    const before = await read('set-owner/definition.yaml');
    const digest = await push('second');
    const dry = await run('pin', 'set-owner', '--dry-run');
    expectEnd(dry, 0, 'would change set-owner/definition.yaml');
    expect(dry.out()).toMatch(
      new RegExp(
        `^--- a/set-owner/definition.yaml\n[\\s\\S]*\n-( +)sha256: .*\n\\+\\1sha256: ${hex(digest)}\n`,
      ),
    );
    expect(await read('set-owner/definition.yaml')).toBe(before);
    await run('pin', 'set-owner');
    expect(await read('set-owner/definition.yaml')).toContain(`sha256: ${hex(digest)}\n`);
  });

  it('keeps line ends, comments, flow style, and JSON', async () => {
    const digest = hex(await push('one'));
    const image = `${host}/images/set-owner:v1.0.0`;
    const runtime = (more: string) => `{container: {image: '${image}'${more}}} # ours`;
    const text = (more: string) =>
      `# Top\r\nkind: KRMFunctionDefinition\r\nspec:\r\n  versions:\r\n  - name: v1\r\n    runtime: ${runtime(more)}\r\n  # end\r\n`;
    await write('crlf.yaml', text(''));
    expectEnd(await run('pin', 'crlf.yaml'), 0, 'wrote crlf.yaml');
    expect(await read('crlf.yaml')).toBe(text(`, sha256: ${digest}`));
    const json = { kind: 'KRMFunctionDefinition', spec: { runtime: { container: { image, sha256: '0' } } } };
    await write('a.json', JSON.stringify(json));
    expectEnd(await run('pin', 'a.json'), 0, 'wrote a.json');
    json.spec.runtime.container.sha256 = digest;
    expect(JSON.parse(await read('a.json'))).toEqual(json);
  });

  it('names every image without a digest, and writes nothing', async () => {
    const before = `kind: KRMFunctionDefinition
spec:
  versions:
    - runtime: {container: {image: ${host}/images/set-owner:v1.0.0}}
    - runtime: {container: {image: ${host}/images/set-owner:missing}}
    - runtime: {container: {image: 'Not An Image'}}
`;
    await push('one');
    await write('definition.yaml', before);
    const io = await run('pin');
    expect(io.exitCode).toBe(3);
    expect(io.err()).toMatch(
      /^error: cannot pin definition.yaml:\n {2}cannot find the digest of the image \S+:missing: .*\n {2}the image "Not An Image" .*\n {2}hint: Nothing was written\./,
    );
    expect(await read('definition.yaml')).toBe(before);
    for (const image of ['a.example/b:v1', `${host}/images/set-owner:v1.0.0`])
      expectEnd(await run('pin', '--image', image), 2, 'its API versions have 3 images, so --image does not');
    expect(await read('definition.yaml')).toBe(before);
  });

  it('writes one image for all API versions that have one image', async () => {
    const digest = await push('one', 'v3.0.0');
    const image = `${host}/images/set-owner:v3.0.0`;
    const versions = (container: string) =>
      `kind: KRMFunctionDefinition\nspec:\n  versions:\n${`    - runtime: {container: {${container}}}\n`.repeat(2)}`;
    await write('definition.yaml', versions('image: a.example/b:v1'));
    expectEnd(await run('pin', '--image', image), 0, 'wrote definition.yaml');
    expect(await read('definition.yaml')).toBe(versions(`image: '${image}', sha256: ${hex(digest)}`));
  });

  it.each([
    ['kind: ConfigMap\n', [], 1, 'it is not one definition'],
    ['kind: KRMFunctionDefinition\n---\nkind: KRMFunctionDefinition\n', [], 1, 'it is not one definition'],
    [
      'kind: KRMFunctionDefinition\nspec: {versions: [{runtime: {starlark: ./main.star}}]}\n',
      [],
      2,
      'publish',
    ],
    ['kind: KRMFunctionDefinition\nspec: {versions: 1, runtime: [a]}\n', [], 2, 'no image and no executable'],
    ['a: [\n', [], 1, 'definition.yaml'],
    ['kind: KRMFunctionDefinition\n', ['--downloads', 'http://a.example'], 2, 'not an https URL'],
    ['kind: KRMFunctionDefinition\n', ['--platforms', 'linux'], 2, 'linux/amd64, linux/arm64'],
  ])('refuses %j', async (text, args, code, message) => {
    await write('definition.yaml', text);
    expectEnd(await run('pin', ...args), code, message);
    expect(await read('definition.yaml')).toBe(text);
  });
});

describe('pin, of executables', () => {
  let server: Server;
  let origin: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url?.includes('missing') === true) response.statusCode = 404;
      response.end(`#!/bin/sh\n# ${request.url}\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());
  beforeEach(async () => {
    const io = await run(
      ...['init', 'example.com/CheckLimits', '--runtime', 'exec', '--platforms', 'linux/amd64,windows/arm64'],
    );
    expectEnd(io, 0);
    await mkdir(path.join(folder, 'build'));
    await write('build/check-limits_linux_amd64', 'a program');
    await write('build/check-limits_windows_arm64.exe', 'another');
  });
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');

  it('reads the digests of files, and writes where they are downloaded from', async () => {
    const before = await read('check-limits/definition.yaml');
    const downloads = 'https://dl.example.com/v1.0.0';
    const args = ['pin', 'check-limits', '--files', 'build'];
    expectEnd(await run(...args, '--downloads', `${downloads}/`), 0, `(windows/arm64)\nwrote`);
    const after = await read('check-limits/definition.yaml');
    expect(after).toBe(
      before
        .replaceAll(/uri: .*\//g, `uri: ${downloads}/`)
        .replace('0'.repeat(64), sha('a program'))
        .replace('0'.repeat(64), sha('another')),
    );
    await write('build/check-limits_linux_amd64', 'a newer program');
    await write('build/check-limits_windows_arm64.exe', 'newer');
    expectEnd(await run(...args, '--platforms', 'windows/arm64'), 0, 'wrote');
    expect(await read('check-limits/definition.yaml')).toBe(after.replace(sha('another'), sha('newer')));
    expectEnd(await run(...args, '--platforms', 'linux/arm64'), 2, 'no executable for linux/arm64');
    expectEnd(await run(...args, '--image', 'a.example/b:v1'), 2, 'it has no image');
    expectEnd(await run('pin', 'check-limits', '--files', 'missing'), 3, 'check-limits_windows_arm64.exe');
  });

  it('downloads executables without files', async () => {
    const text = (await read('check-limits/definition.yaml')).replaceAll(/uri: .*\//g, `uri: ${origin}/`);
    await write('check-limits/definition.yaml', text);
    expectEnd(await run('pin', 'check-limits'), 0, 'wrote');
    const served = (name: string) => sha(`#!/bin/sh\n# /${name}\n`);
    expect(await read('check-limits/definition.yaml')).toBe(
      text
        .replace('0'.repeat(64), served('check-limits_linux_amd64'))
        .replace('0'.repeat(64), served('check-limits_windows_arm64.exe')),
    );
    await write('check-limits/definition.yaml', text.replace('_windows', 'missing'));
    const failed = await run('pin', 'check-limits');
    expectEnd(failed, 3, 'check-limitsmissing_arm64.exe');
    expect(await read('check-limits/definition.yaml')).toBe(text.replace('_windows', 'missing'));
  });

  it('leaves a reference that has a digest', async () => {
    const uri = `oci://${host}/a/b@sha256:${'ab'.repeat(32)}`;
    const text = `kind: KRMFunctionDefinition\nspec:\n  runtime: {exec: {platforms: [{os: linux, arch: amd64, uri: '${uri}'}]}}\n`;
    await write('definition.yaml', text);
    expectEnd(await run('pin'), 0, 'unchanged definition.yaml');
  });
});
