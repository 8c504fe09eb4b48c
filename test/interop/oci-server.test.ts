import { mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { missingReason, newToken, registryHost, titleWithReason, User } from './oci-tools.js';

/** Images in our registry, by other projects' clients. */

const { folder, remove } = temporaryFolder();
const noCrane = missingReason('crane');
const noSkopeo = noCrane ?? missingReason('skopeo');
const noRegctl = noSkopeo ?? missingReason('regctl');

let registry: RunningRegistry;
let host: string;
/** May push below team/ and nowhere else. */
let teamToken: string;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
  teamToken = await newToken(registry, 'builds', '--scope', 'push', '--repository', 'team/*');
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

async function withImage(name: string, user = new User(folder).storeCredentials(host, teamToken)) {
  user.write('hello.txt', 'hello\n');
  await user.mustSucceed('tar', '-cf', 'layer.tar', 'hello.txt');
  const reference = `${host}/${name}`;
  await user.mustSucceed('crane', 'append', '--new_layer', 'layer.tar', '--new_tag', reference);
  return { user, reference, digest: await user.mustSucceed('crane', 'digest', reference) };
}

const lacks = (repository: string) => `the token "builds" does not have the repository "${repository}"`;

describe.skipIf(noCrane !== undefined)(titleWithReason('crane', noCrane), () => {
  it('logs in, pushes an image, and pulls the same', async () => {
    const user = new User(folder);
    const login = ['auth', 'login', host, '--username', 'anybody', '--password-stdin'];
    expect(await user.run('crane', login, teamToken)).toMatchObject({ code: 0 });
    const { reference, digest } = await withImage('team/image:v1', user);
    await user.mustSucceed('crane', 'pull', reference, 'image.tar');
    await user.mustSucceed('crane', 'push', 'image.tar', `${host}/team/again:v1`);
    expect(await user.mustSucceed('crane', 'digest', `${host}/team/again:v1`)).toBe(digest);
    await user.mustSucceed('crane', 'validate', '--remote', reference);
    const exported = await user.mustSucceed('crane', 'export', reference, '-');
    expect(exported).toContain('hello.txt');
  });

  it('lists repositories and tags, and reads manifests', async () => {
    const { user, reference, digest } = await withImage('team/listed:v1');
    await user.mustSucceed('crane', 'tag', reference, 'v2');
    expect(await user.mustSucceed('crane', 'ls', `${host}/team/listed`)).toBe('v1\nv2');
    expect((await user.mustSucceed('crane', 'catalog', host)).split('\n')).toContain('team/listed');
    const manifest = await user.mustSucceed('crane', 'manifest', `${host}/team/listed@${digest}`);
    expect(JSON.parse(manifest)).toMatchObject({ schemaVersion: 2, layers: [{}] });
    expect(await user.isRefused('crane', 'manifest', `${host}/team/listed:v3`)).toContain(
      'MANIFEST_UNKNOWN: manifest not found in this repository',
    );
    expect(await user.isRefused('crane', 'ls', `${host}/team/nothing`)).toContain(
      'NAME_UNKNOWN: repository not found',
    );
  });

  it('copies within a repository, and to another without sending blobs', async () => {
    const { user, reference, digest } = await withImage('team/source:v1');
    await user.mustSucceed('crane', 'copy', reference, `${host}/team/source:v2`);
    const { stderr } = await user.run('crane', ['copy', reference, `${host}/team/target:v1`]);
    expect(stderr.match(/mounted blob/g)).toHaveLength(2);
    for (const copy of ['source:v2', 'target:v1'])
      expect(await user.mustSucceed('crane', 'digest', `${host}/team/${copy}`)).toBe(digest);
  });

  it('deletes by tag and by digest', async () => {
    const { user, reference, digest } = await withImage('team/deleted:v1');
    await user.mustSucceed('crane', 'tag', reference, 'v2');
    await user.mustSucceed('crane', 'delete', reference);
    expect(await user.mustSucceed('crane', 'ls', `${host}/team/deleted`)).toBe('v2');
    await user.mustSucceed('crane', 'delete', `${host}/team/deleted@${digest}`);
    expect(await user.mustSucceed('crane', 'ls', `${host}/team/deleted`)).toBe('');
    expect(await user.isRefused('crane', 'delete', `${host}/team/deleted@${digest}`)).toContain(
      'MANIFEST_UNKNOWN',
    );
  });

  it('prints the missing permission of a token', async () => {
    const { user, reference } = await withImage('team/refused:v1');
    const append = ['append', '--new_layer', 'layer.tar', '--new_tag'];
    for (const said of [
      await user.isRefused('crane', ...append, `${host}/other/image:v1`),
      await user.isRefused('crane', 'copy', reference, `${host}/other/image:v1`),
      await user.isRefused('crane', 'delete', `${host}/other/image:v1`),
    ]) {
      expect(said).toContain(`DENIED: ${lacks('other/image')}`);
      expect(said).toContain('krmhub token create NAME --scope push --repository other/image');
    }
    expect(await user.isRefused('crane', ...append, `${host}/functions/example.com/x:1`)).toContain(
      'does not have the scope "publish"',
    );
  });

  it('asks the user to log in, and rejects an unknown password', async () => {
    const { reference } = await withImage('team/closed:v1');
    const stranger = new User(folder);
    expect(await stranger.isRefused('crane', 'delete', reference)).toMatch(
      /UNAUTHORIZED: .*any user name and a registry token as the password/,
    );
    stranger.storeCredentials(host, 'krmhub_wrong');
    expect(await stranger.isRefused('crane', 'delete', reference)).toMatch(
      /UNAUTHORIZED: .*token create NAME --scope push/,
    );
  });
});

describe.skipIf(noSkopeo !== undefined)(titleWithReason('skopeo', noSkopeo), () => {
  const copy = ['copy', '--insecure-policy', '--preserve-digests', '--dest-tls-verify=false'];
  const both = [...copy, '--src-tls-verify=false'];

  it('copies an image from a layout here, and between repositories, with its digest', async () => {
    const { user, reference, digest } = await withImage('team/laid-out:v1');
    await user.mustSucceed('crane', 'pull', '--format', 'oci', reference, 'layout');
    const target = `docker://${host}/team/skopeo:v1`;
    await user.mustSucceed('skopeo', ...copy, 'oci:layout', target);
    await user.mustSucceed('skopeo', ...both, target, `docker://${host}/team/skopeo-copy:v2`);
    expect(await user.mustSucceed('crane', 'digest', `${host}/team/skopeo-copy:v2`)).toBe(digest);
    const inspected = await user.mustSucceed('skopeo', 'inspect', '--tls-verify=false', target);
    expect(JSON.parse(inspected)).toMatchObject({ Digest: digest, RepoTags: ['v1'] });
    const raw = await user.mustSucceed('skopeo', 'inspect', '--raw', '--tls-verify=false', target);
    expect(raw).toBe(readFileSync(user.at(`layout/blobs/${digest.replace(':', '/')}`), 'utf8'));
  });

  it('copies an image from here into a layout', async () => {
    const { user, reference, digest } = await withImage('team/pulled:v1');
    const pull = ['copy', '--insecure-policy', '--preserve-digests', '--src-tls-verify=false'];
    const to = path.join(mkdtempSync(path.join(folder, 'layout-')), 'image');
    await user.mustSucceed('skopeo', ...pull, `docker://${reference}`, `dir:${to}`);
    await user.mustSucceed('skopeo', ...copy, `dir:${to}`, `docker://${host}/team/pushed-back:v1`);
    expect(await user.mustSucceed('crane', 'digest', `${host}/team/pushed-back:v1`)).toBe(digest);
  });

  it('lists tags and deletes', async () => {
    const { user, reference } = await withImage('team/skopeo-deleted:v1');
    const tags = ['list-tags', '--tls-verify=false', `docker://${host}/team/skopeo-deleted`];
    expect(JSON.parse(await user.mustSucceed('skopeo', ...tags)).Tags).toEqual(['v1']);
    await user.mustSucceed('skopeo', 'delete', '--tls-verify=false', `docker://${reference}`);
    expect(JSON.parse(await user.mustSucceed('skopeo', ...tags)).Tags).toEqual([]);
  });

  it('checks a login, and prints the problem', async () => {
    const { user, reference } = await withImage('team/skopeo-refused:v1');
    const login = ['login', '--tls-verify=false', '--username', 'anybody', '--password-stdin', host];
    expect(await user.run('skopeo', login, teamToken)).toMatchObject({ code: 0 });
    const wrong = await new User(folder).run('skopeo', login, 'wrong');
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain('invalid username/password');
    const target = `docker://${host}/other/skopeo:v1`;
    expect(await user.isRefused('skopeo', ...both, `docker://${reference}`, target)).toContain(
      `does not have the repository`,
    );
  });
});

describe.skipIf(noRegctl !== undefined)(titleWithReason('a client without login', noRegctl), () => {
  it('pulls with crane, skopeo and regctl', async () => {
    const { reference, digest } = await withImage('team/for-everybody:v1');
    const anybody = new User(folder);
    await anybody.mustSucceed('crane', 'pull', reference, 'image.tar');
    await anybody.mustSucceed('crane', 'validate', '--tarball', 'image.tar');
    const pull = ['copy', '--insecure-policy', '--src-tls-verify=false', `docker://${reference}`];
    await anybody.mustSucceed('skopeo', ...pull, 'dir:skopeo');
    await anybody.regctlKnows(host);
    await anybody.regctl('image', 'copy', reference, 'ocidir://regctl:v1');
    expect(await anybody.regctl('image', 'digest', 'ocidir://regctl:v1')).toBe(digest);
  });
});
