import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startProcess, temporaryFolder } from '../running.js';
import { Cosigner, noCosign } from './cosign.js';
import { missingReason, newToken, registryHost, titleWithReason, User } from './oci-tools.js';
import { storeAccess } from './stored-access.js';

/** What other projects' clients make of repositories that they may not read. */

const { folder, remove } = temporaryFolder();
const noCrane = missingReason('crane');

let registry: RunningRegistry;
let host: string;
let reader: User;
/** Logged in, without the right to read ops/. */
let other: User;
let signer: Cosigner;
const anybody = new User(folder);
let digest: string;

beforeAll(async () => {
  if (noCrane !== undefined) return;
  const data = path.join(folder, 'data');
  await (await startProcess(data)).stop();
  await storeAccess(data, 'repositories: [{pattern: "ops/*", visibility: private}]');
  registry = await startProcess(data);
  host = registryHost(registry);
  const login = async <Who extends User>(who: Who, name: string, ...options: string[]): Promise<Who> =>
    who.storeCredentials(host, await newToken(registry, name, ...options));
  signer = await login(new Cosigner(folder), 'builds', '--scope', 'push', '--repository', '*');
  reader = await login(new User(folder), 'reader', '--scope', 'read', '--repository', 'ops/*');
  other = await login(new User(folder), 'other', '--scope', 'push', '--repository', 'team/*');
  signer.write('hello.txt', 'hello\n');
  await signer.mustSucceed('tar', '-cf', 'layer.tar', 'hello.txt');
  for (const name of ['ops/tools', 'team/tools']) {
    const reference = `${host}/${name}:v1`;
    await signer.mustSucceed('crane', 'append', '--new_layer', 'layer.tar', '--new_tag', reference);
    digest = await signer.mustSucceed('crane', 'digest', reference);
  }
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

/** Commands that read an image, by program. */
const PULLS: Record<string, (image: string, to: string) => string[]> = {
  crane: (image, to) => ['pull', image, to],
  oras: (image) => ['manifest', 'fetch', '--plain-http', image],
  skopeo: (image, to) => ['copy', '--src-tls-verify=false', `docker://${image}`, `dir:${to}`],
  podman: (image) => ['pull', '--tls-verify=false', image],
};

describe.skipIf(noCrane !== undefined)(titleWithReason('hidden repositories', noCrane), () => {
  let files = 0;
  const pull = (user: User, program: string, image: string) => {
    files += 1;
    return user.run(program, PULLS[program]!(`${host}/${image}`, user.at(`copy-${files}`)));
  };
  const unnamed = (text: string) =>
    text.replaceAll('absent', 'tools').replaceAll(/copy-\d+|time="[^"]*"|\d\d:\d\d:\d\d\S*/g, '');

  for (const program of Object.keys(PULLS)) {
    const reason = missingReason(program);
    it.skipIf(reason !== undefined)(titleWithReason(`${program} pulls where it may`, reason), async () => {
      for (const user of [anybody, other, reader]) {
        const { code, stderr } = await pull(user, program, 'team/tools:v1');
        expect(code, stderr).toBe(0);
      }
      const { code, stderr } = await pull(reader, program, 'ops/tools:v1');
      expect(code, stderr).toBe(0);
      for (const user of [anybody, other]) {
        const refused = await pull(user, program, 'ops/tools:v1');
        const absent = await pull(user, program, 'ops/absent:v1');
        expect(refused.code).not.toBe(0);
        expect(unnamed(refused.stderr)).toBe(unnamed(absent.stderr));
        expect(refused.stderr).toMatch(
          user === anybody ? /unauthorized|requires a token/i : /unknown|not found/i,
        );
      }
    });
  }

  it('lists what each may read', async () => {
    const list = async (user: User) => (await user.mustSucceed('crane', 'catalog', host)).split('\n');
    expect(await list(anybody)).not.toContain('ops/tools');
    expect(await list(other)).not.toContain('ops/tools');
    expect(await list(reader)).toContain('ops/tools');
    expect(await list(anybody)).toContain('team/tools');
  });

  it('does not mount a blob from a repository that the client may not read', async () => {
    const { code, stderr } = await other.run('crane', [
      'copy',
      `${host}/ops/tools:v1`,
      `${host}/team/copy:v1`,
    ]);
    expect(code, stderr).not.toBe(0);
    await signer.mustSucceed('crane', 'copy', `${host}/ops/tools:v1`, `${host}/team/copy:v1`);
  });

  it.skipIf(noCosign !== undefined)(
    titleWithReason('cosign signs and verifies for those who may read', noCosign),
    async () => {
      const image = `${host}/ops/tools@${digest}`;
      await signer.cosign('generate-key-pair');
      const silent = ['--use-signing-config=false', '--tlog-upload=false', '--allow-http-registry'];
      await signer.cosign('sign', '--yes', '--key=cosign.key', ...silent, image);
      const verify = ['verify', '--insecure-ignore-tlog=true', '--allow-http-registry', '--key=cosign.pub'];
      const as = (password?: User) => {
        const user = new Cosigner(folder);
        user.write('cosign.pub', signer.read('cosign.pub'));
        if (password !== undefined) user.env.DOCKER_CONFIG = password.env.DOCKER_CONFIG!;
        return user;
      };
      expect(await as(reader).cosign(...verify, image)).toContain(digest);
      expect(await as().cosignIsRefused(...verify, image)).toMatch(/unauthorized/i);
      expect(await as(other).cosignIsRefused(...verify, image)).toContain('no signatures found');
    },
  );
});
