import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { ARTIFACT_MEDIA_TYPES, computeDigest, EMPTY_CONFIG, MEDIA_TYPES, TITLE } from '@krmhub/oci';
import { type ScriptedServer, scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { afterEach, describe, expect, it } from 'vitest';
import { dockerCredentials } from '../registry/docker-credentials.js';
import { expectEnd, runTest, temporaryFolder, testIo } from '../testing/command-line.js';

const folder = temporaryFolder();
const servers: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const CONTENT = Buffer.from('apiVersion: config.kubernetes.io/v1alpha1\n');
const layer = (title: string | undefined, mediaType = ARTIFACT_MEDIA_TYPES.catalog.layer) => ({
  mediaType,
  digest: computeDigest(CONTENT),
  size: CONTENT.length,
  ...(title === undefined ? {} : { annotations: { [TITLE]: title } }),
});

/** A registry that answers with this manifest, and with the content for every blob. */
async function registryWith(manifest: object, content: Uint8Array = CONTENT): Promise<string> {
  const config = { mediaType: MEDIA_TYPES.empty, digest: computeDigest(EMPTY_CONFIG), size: 2 };
  const body = JSON.stringify({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    config,
    layers: [],
    ...manifest,
  });
  const server = await scriptedServer((request, response) => {
    if (!request.url?.includes('/manifests/')) response.end(content);
    else response.writeHead(200, { 'Content-Type': MEDIA_TYPES.image }).end(body);
  });
  servers.push(server);
  return server.host;
}

function emptyFolder(): string {
  return mkdtempSync(path.join(folder, 'pull-'));
}

describe('krmhub pull', () => {
  it.each([
    ['a way out of the folder', '../escaped.yaml'],
    ['an absolute path', '/tmp/krmhub-escaped.yaml'],
    ['a folder', 'sub/escaped.yaml'],
    ['a folder of Windows', 'sub\\escaped.yaml'],
    ['the folder itself', '.'],
    ['the folder above', '..'],
    ['nothing', ''],
    ['a NUL', 'a\0b'],
    ['what acts on a terminal', 'a\u001b[2Jb'],
    ['too much', 'x'.repeat(256)],
  ])('writes nothing where a title is %s', async (_, title) => {
    const host = await registryWith({ layers: [layer('good.yaml', 'text/plain'), layer(title)] });
    const cwd = emptyFolder();
    const io = await runTest(['pull', `${host}/x:1`, '--out', 'out'], { cwd });
    expectEnd(io, 1, 'is not a file name');
    expect(io.err()).not.toContain('\u001b');
    expect(readdirSync(cwd)).toEqual([]);
    expect(existsSync(path.join(folder, 'escaped.yaml'))).toBe(false);
  });

  it('writes nothing if two titles are the same file', async () => {
    const host = await registryWith({ layers: [layer('A.yaml'), layer('a.yaml', 'text/plain')] });
    const io = await runTest(['pull', `${host}/x:1`, '--out', 'out'], { cwd: emptyFolder() });
    expectEnd(io, 1, 'is a duplicate');
  });

  it('replaces a symbolic link, not its target', async () => {
    const host = await registryWith({ layers: [layer('catalog.yaml')] });
    const cwd = emptyFolder();
    writeFileSync(path.join(cwd, 'precious'), 'mine');
    mkdirSync(path.join(cwd, 'out'));
    symlinkSync('../precious', path.join(cwd, 'out/catalog.yaml'));
    expect((await runTest(['pull', `${host}/x:1`, '--out', 'out'], { cwd })).exitCode).toBe(1);
    expectEnd(await runTest(['pull', `${host}/x:1`, '--out', 'out', '--overwrite'], { cwd }), 0);
    expect(readFileSync(path.join(cwd, 'precious'), 'utf8')).toBe('mine');
    expect(readFileSync(path.join(cwd, 'out/catalog.yaml'))).toEqual(CONTENT);
  });

  it('writes nothing if the digest differs', async () => {
    const other = Buffer.from(CONTENT);
    other[0] = 0x41;
    const host = await registryWith({ layers: [layer('catalog.yaml')] }, other);
    const cwd = emptyFolder();
    expectEnd(await runTest(['pull', `${host}/x:1`], { cwd }), 4, 'it has the digest');
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('lists layers without a title, and rejects artifacts without files', async () => {
    const cwd = emptyFolder();
    const named = await registryWith({ layers: [layer(undefined)] });
    expect((await runTest(['pull', `${named}/x:1`], { cwd })).exitCode).toBe(0);
    expect(readFileSync(path.join(cwd, 'catalog.yaml'))).toEqual(CONTENT);
    const image = await registryWith({
      layers: [layer(undefined, 'application/vnd.oci.image.layer.v1.tar')],
    });
    expectEnd(await runTest(['pull', `${image}/x:1`], { cwd }), 3, 'has no files');
  });
});

describe('an oci:// reference instead of a file', () => {
  const artifactType = ARTIFACT_MEDIA_TYPES.catalog.artifact;

  it('is linted with the reference as its name', async () => {
    const host = await registryWith({ artifactType, layers: [layer('catalog.yaml')] });
    const io = await runTest(['lint', `oci://${host}/x:1`]);
    expect(io.exitCode).toBe(1);
    expect(io.out() + io.err()).toContain(`oci://${host}/x:1:1:`);
  });

  it('is rejected if it is too large or another artifact', async () => {
    const large = await registryWith({ artifactType, layers: [{ ...layer('c.yaml'), size: 1e12 }] });
    expect((await runTest(['lint', `oci://${large}/x:1`])).err()).toContain('1000000000000 bytes');
    const other = await registryWith({ layers: [layer('x', 'text/plain')] });
    const io = await runTest(['diff', `oci://${other}/x:1`, `oci://${other}/x:1`]);
    expect(io.err()).toContain('not an artifact of krmhub, expected a catalog or a definition');
  });
});

describe('krmhub push', () => {
  const push = (args: string[], cwd: string) => runTest(['push', ...args], { cwd });

  it.each([
    [['localhost:1/x:1'], 'cannot push: FILE is missing'],
    [['a.yaml', 'b.yaml', 'localhost:1/x:1'], 'one file'],
    [['a.yaml', 'x:1'], 'does not start with a registry host'],
    [['a.yaml', `localhost:1/x@sha256:${'a'.repeat(64)}`], 'neither'],
    [['a.txt', 'localhost:1/x:1'], 'cannot determine the file type'],
    [['missing.yaml', 'localhost:1/x:1'], 'missing.yaml'],
    [['.', 'localhost:1/x:1'], 'cannot determine the file type'],
    [
      ['--exec', 'a.txt', '--exec', 'b.txt', 'localhost:1/x:1'],
      'each of several executables requires a platform',
    ],
    [
      ['--exec', 'linux/amd64=a.txt', '--exec', 'linux/amd64=a.txt', 'localhost:1/x:1'],
      'two executables for linux/amd64',
    ],
  ])('says what is wrong with %j', async (args, message) => {
    const cwd = emptyFolder();
    for (const name of ['a.txt', 'b.txt']) writeFileSync(path.join(cwd, name), 'x');
    const io = await push(args, cwd);
    expect([2, 3]).toContain(io.exitCode);
    expect(io.err()).toContain(message === 'neither' ? 'has a digest' : message);
  });

  it('does not push a definition with errors', async () => {
    const cwd = emptyFolder();
    writeFileSync(
      path.join(cwd, 'a.yaml'),
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\n',
    );
    const io = await push(['a.yaml', 'localhost:1/x:1'], cwd);
    expectEnd(io, 1, 'a.yaml:');
    expect(io.err()).toContain('cannot push ');
  });
});

describe('dockerCredentials', () => {
  const HOST = 'registry.example.com:5000';
  const auth = Buffer.from('user:pass:word').toString('base64');

  function ioWith(configuration: unknown, PATH = '/usr/bin:/bin') {
    const home = emptyFolder();
    mkdirSync(path.join(home, '.docker'));
    const text = typeof configuration === 'string' ? configuration : JSON.stringify(configuration);
    writeFileSync(path.join(home, '.docker/config.json'), text);
    return testIo({ env: { HOME: home, PATH: `${home}:${PATH}` } });
  }

  it.each<[string, unknown, unknown]>([
    [
      'a name and password in one text',
      { auths: { [HOST]: { auth } } },
      { username: 'user', password: 'pass:word' },
    ],
    [
      'a web address',
      { auths: { [`https://${HOST}/v1/`]: { auth } } },
      { username: 'user', password: 'pass:word' },
    ],
    ['two texts', { auths: { [HOST]: { username: 'u', password: 'p' } } }, { username: 'u', password: 'p' }],
    ['a token', { auths: { [HOST]: { auth, identitytoken: 't' } } }, { identityToken: 't' }],
    ['another host', { auths: { 'registry.example.com': { auth } } }, undefined],
    ['nothing', {}, undefined],
    ['an entry without anything', { auths: { [HOST]: {} } }, undefined],
  ])('finds %s', async (_, configuration, found) => {
    expect(await dockerCredentials(ioWith(configuration), HOST)).toEqual(found);
  });

  it('returns none without a configuration file', async () => {
    expect(await dockerCredentials(testIo(), HOST)).toBeUndefined();
  });

  it.each(['{', '[]', 'secret'])('shows nothing of a file that is %j', async (text) => {
    const failure = await dockerCredentials(ioWith(text), HOST).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'usage', message: expect.not.stringContaining('secret') });
  });

  it('prefers the helper of the registry to the general helper', async () => {
    const io = ioWith({ credsStore: 'all', credHelpers: { [HOST]: 'one' } });
    const script = (name: string, lines: string) => {
      const file = path.join(io.env.HOME!, `docker-credential-${name}`);
      writeFileSync(file, `#!/bin/sh\nread server\n${lines}\n`);
      chmodSync(file, 0o755);
    };
    script('all', 'echo credentials not found in native keychain; exit 1');
    script('one', `echo '{"Username":"<token>","Secret":"'$server'"}'`);
    expect(await dockerCredentials(io, HOST)).toEqual({ identityToken: HOST });
    expect(await dockerCredentials(io, 'other.example.com')).toBeUndefined();
    script('all', 'echo the chain is locked; exit 1');
    await expect(dockerCredentials(io, 'other.example.com')).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('the chain is locked'),
    });
    script('all', 'echo hunter2');
    await expect(dockerCredentials(io, 'other.example.com')).rejects.toMatchObject({
      message: expect.not.stringContaining('hunter2'),
    });
  });

  it('does not run a helper in a relative folder of PATH', async () => {
    const io = ioWith({ credsStore: 'here' });
    const file = path.join(io.env.HOME!, 'docker-credential-here');
    writeFileSync(file, `#!/bin/sh\necho '{"Username":"a","Secret":"b"}'\n`, { mode: 0o755 });
    const PATH = path.relative(process.cwd(), io.env.HOME!);
    await expect(dockerCredentials({ ...io, env: { ...io.env, PATH } }, HOST)).rejects.toMatchObject({
      message: expect.stringContaining('not installed'),
    });
  });

  it('does not run a helper with a path', async () => {
    const io = ioWith({ credsStore: '../../bin/sh' });
    await expect(dockerCredentials(io, HOST)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
