import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { computeDigest, tarArchive } from '@krmhub/oci';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';

const folder = temporaryFolder();
const registry = fileRegistry();
let host: string;
beforeAll(async () => {
  ({ host } = new URL(registry.url));
});

const config = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

function folderWith(files: Record<string, string>): string {
  const cwd = mkdtempSync(path.join(folder, 'work-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
    writeFileSync(path.join(cwd, name), text);
  }
  return cwd;
}

const push = (args: string[], cwd: string, more: { stdin?: string; env?: Record<string, string> } = {}) =>
  runTest(['push', ...args], {
    cwd,
    env: { ...registry.env, ...more.env },
    ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
  });

async function pushed(args: string[], cwd: string, more?: Parameters<typeof push>[2]) {
  const io = await push([...args, '-o', 'json'], cwd, more);
  expect(io.exitCode, io.err()).toBe(0);
  return JSON.parse(io.out()) as { digest: string; outcome: string; files: { digest: string }[] };
}

async function read(repository: string, name: string): Promise<Buffer> {
  const headers = {
    Authorization: `Bearer ${registry.token}`,
    Accept: 'application/vnd.oci.image.manifest.v1+json',
  };
  const response = await fetch(`${registry.url}/v2/${repository}/${name}`, { headers });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe('krmhub push --flux', () => {
  it('pushes the files of a folder in order, without hidden files', async () => {
    const cwd = folderWith({
      'rendered/b.yaml': config('b'),
      'rendered/a/z.yaml': config('z'),
      'rendered/.git/config': 'secret',
      'rendered/.env': 'secret',
    });
    const reference = `${host}/flux/folder:v1`;
    const io = await push(['--flux', 'rendered', reference, '--revision', 'main@sha1:0f'], cwd);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain('skipped 2 hidden files and folders');
    expect(io.err()).toMatch(/pushed .*\/flux\/folder:v1 \(manifests for Flux, 2 files, /);
    const manifest = await read('flux/folder', 'manifests/v1');
    expect(io.err()).toContain(`digest: ${computeDigest(manifest)}`);
    const { layers, annotations, config: its } = JSON.parse(manifest.toString());
    expect(annotations).toEqual({
      'org.opencontainers.image.created': '1970-01-01T00:00:00Z',
      'org.opencontainers.image.revision': 'main@sha1:0f',
    });
    expect(its.mediaType).toBe('application/vnd.cncf.flux.config.v1+json');
    expect(layers).toHaveLength(1);
    const archive = gunzipSync(await read('flux/folder', `blobs/${layers[0].digest}`));
    const expected = tarArchive([
      { name: 'a/z.yaml', bytes: Buffer.from(config('z')) },
      { name: 'b.yaml', bytes: Buffer.from(config('b')) },
    ]);
    expect(archive.equals(expected)).toBe(true);
  });

  it('pushes the same digest for the same manifests, and moves the tag only for others', async () => {
    const cwd = folderWith({ 'one/app.yaml': config('a'), 'two/app.yaml': config('a') });
    const reference = `${host}/flux/same:v1`;
    const first = await pushed(['--flux', 'one', reference], cwd);
    expect(first.outcome).toBe('pushed');
    expect(await pushed(['--flux', 'two', reference], cwd)).toMatchObject({
      outcome: 'unchanged',
      digest: first.digest,
    });
    const alone = await pushed(['--flux', 'one/app.yaml', reference], cwd);
    expect([alone.outcome, alone.digest]).toEqual(['unchanged', first.digest]);
    const later = await pushed(['--flux', 'one', reference], cwd, {
      env: { SOURCE_DATE_EPOCH: '1893456000' },
    });
    expect(later).toMatchObject({ outcome: 'moved', before: first.digest });
    expect(later.files[0]!.digest).toBe(first.files[0]!.digest);
  });

  it('reads stdin', async () => {
    const { files } = await pushed(['--flux', '-', `${host}/flux/stdin:v1`], folder, { stdin: config('a') });
    const archive = gunzipSync(await read('flux/stdin', `blobs/${files[0]!.digest}`));
    expect(archive.equals(tarArchive([{ name: 'manifests.yaml', bytes: Buffer.from(config('a')) }]))).toBe(
      true,
    );
  });

  it.each<[string, string[], { stdin?: string }, number, string]>([
    ['empty stdin of a failed command', ['--flux', '-'], { stdin: '\n' }, 2, 'it has no manifests'],
    ['a folder without files', ['--flux', 'hidden'], {}, 2, 'it has no manifests'],
    ['a folder that does not exist', ['--flux', 'missing'], {}, 3, 'cannot read missing'],
    ['a link', ['--flux', 'linked'], {}, 2, 'is not a regular file'],
    ['a file and a folder', ['a.yaml', '--flux', 'good'], {}, 2, 'the manifests in --flux'],
  ])('refuses %s', async (_, args, more, code, message) => {
    const cwd = folderWith({
      'good/a.yaml': config('a'),
      'hidden/.a.yaml': config('a'),
      'a.yaml': config('a'),
    });
    mkdirSync(path.join(cwd, 'linked'));
    symlinkSync('../a.yaml', path.join(cwd, 'linked/b.yaml'));
    expectEnd(await push([...args, `${host}/flux/refused:v1`], cwd, more), code, message);
    const left = await fetch(`${registry.url}/v2/flux/refused/manifests/v1`);
    expect(left.status).toBe(404);
  });
});
