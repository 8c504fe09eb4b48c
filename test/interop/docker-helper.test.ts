import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { command, type RunningRegistry, root, startRegistry, temporaryFolder } from '../running.js';
import { Cosigner, noCosign } from './cosign.js';
import { manifestAt, missingReason, newToken, registryHost, titleWithReason } from './oci-tools.js';

/**
 * Other projects' clients with a token of krmhub, which they get from `docker-credential-krmhub`. They push, because
 * here that needs a token.
 */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let host: string;
let token: string;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
  token = await newToken(registry, 'builds', '--scope', 'push', '--repository', 'team/*');
  mkdirSync(path.join(folder, 'bin'));
  const helper = path.join(root, 'apps/cli/bin/docker-credential-krmhub.js');
  const text = `#!/bin/sh\nexec '${process.execPath}' '${helper}' "$@"\n`;
  writeFileSync(path.join(folder, 'bin/docker-credential-krmhub'), text, { mode: 0o755 });
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

/** A user whose docker asks krmhub for this registry, and who has no other credentials and no service of docker. */
function user(): Cosigner {
  const one = new Cosigner(folder);
  one.write('.docker/config.json', JSON.stringify({ credHelpers: { [host]: 'krmhub' } }));
  one.write('policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}');
  one.write('registries.conf', 'unqualified-search-registries = []\n');
  one.write('containers.conf', '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n');
  one.write(
    'storage.conf',
    `[storage]\ndriver = "vfs"\nrunroot = "${one.at('runroot')}"\ngraphroot = "${one.at('images')}"\n`,
  );
  one.write('file.txt', 'content');
  spawnSync('tar', ['cf', one.at('layer.tar'), '-C', one.home, 'file.txt']);
  for (const name of ['run', 'tmp']) mkdirSync(one.at(name));
  Object.assign(one.env, {
    PATH: `${path.join(folder, 'bin')}:${process.env.PATH}`,
    DOCKER_HOST: `unix://${one.at('no-docker.sock')}`,
    CONTAINERS_STORAGE_CONF: one.at('storage.conf'),
    CONTAINERS_CONF: one.at('containers.conf'),
    CONTAINERS_REGISTRIES_CONF: one.at('registries.conf'),
    XDG_RUNTIME_DIR: one.at('run'),
    TMPDIR: one.at('tmp'),
  });
  return one;
}

async function signedIn(): Promise<Cosigner> {
  const one = user();
  const login = await one.run(process.execPath, [command, 'login', registry.url], token);
  expect(login.code, login.stderr).toBe(0);
  return one;
}

const at = (name: string) => `${host}/team/${name}:v1`;
/** Arguments that push to a repository of the name of the client. */
const PUSHES: Record<string, () => string[]> = {
  crane: () => ['append', '--insecure', '--new_layer', 'layer.tar', '--new_tag', at('crane')],
  oras: () => ['push', '--plain-http', at('oras'), 'file.txt:text/plain'],
  regctl: () => ['artifact', 'put', '--artifact-type', 'text/plain', '--file', 'file.txt', at('regctl')],
  skopeo: () => [
    '--policy',
    'policy.json',
    'copy',
    '--src-tls-verify=false',
    '--dest-tls-verify=false',
    `docker://${at('crane')}`,
    `docker://${at('skopeo')}`,
  ],
  podman: () => [
    'push',
    '--tls-verify=false',
    '--signature-policy',
    'policy.json',
    'localhost/image',
    at('podman'),
  ],
};

async function prepare(one: Cosigner, program: string): Promise<void> {
  if (program === 'regctl') await one.regctlKnows(host);
  if (program === 'podman')
    await one.mustSucceed('podman', 'import', '--quiet', 'layer.tar', 'localhost/image');
}

describe.each(Object.entries(PUSHES))('%s', (program, args) => {
  const reason = missingReason(program) ?? (program === 'skopeo' ? missingReason('crane') : undefined);

  it.skipIf(reason !== undefined)(
    titleWithReason('pushes with the token of `krmhub login`', reason),
    async () => {
      const stranger = user();
      await prepare(stranger, program);
      expect(await stranger.isRefused(program, ...args())).toMatch(
        /unauthorized|authentication required|denied|401/i,
      );
      expect((await manifestAt(registry.url, `team/${program}`, 'v1')).status).toBe(404);
      const one = await signedIn();
      await prepare(one, program);
      await one.mustSucceed(program, ...args());
      expect((await manifestAt(registry.url, `team/${program}`, 'v1')).status).toBe(200);
    },
  );
});

it.skipIf(missingReason('crane') !== undefined)('crane pushes with KRMHUB_TOKEN', async () => {
  const one = user();
  Object.assign(one.env, { KRMHUB_REGISTRY: registry.url, KRMHUB_TOKEN: token });
  await one.mustSucceed('crane', 'append', '--insecure', '--new_layer', 'layer.tar', '--new_tag', at('env'));
  expect((await manifestAt(registry.url, 'team/env', 'v1')).status).toBe(200);
  // The token is for one registry.
  Object.assign(one.env, { KRMHUB_REGISTRY: 'https://krm.example.com' });
  await one.isRefused('crane', 'append', '--insecure', '--new_layer', 'layer.tar', '--new_tag', at('other'));
});

const noSigner = noCosign ?? missingReason('crane');
it.skipIf(noSigner !== undefined)(titleWithReason('cosign pushes a signature', noSigner), async () => {
  const one = await signedIn();
  await one.mustSucceed('crane', ...PUSHES.crane!());
  const { digest } = await manifestAt(registry.url, 'team/crane', 'v1');
  await one.cosign('generate-key-pair');
  const silent = ['--use-signing-config=false', '--tlog-upload=false', '--allow-http-registry'];
  await one.cosign('sign', '--yes', '--key=cosign.key', ...silent, `${host}/team/crane@${digest}`);
  const answer = await fetch(`${registry.url}/v2/team/crane/referrers/${digest}`);
  expect(((await answer.json()) as { manifests: unknown[] }).manifests).toHaveLength(1);
});

/** Both store what they are given with the helper. */
describe.each([
  ['docker', ['--username', 'anybody', '--password-stdin']],
  ['podman', ['--tls-verify=false', '--username', 'anybody', '--password-stdin']],
])('%s login and logout', (program, options) => {
  const reason = missingReason(program);
  it.skipIf(reason !== undefined)(titleWithReason('are those of krmhub', reason), async () => {
    const one = user();
    const login = await one.run(program, ['login', ...options, host], token);
    expect(login.code, login.stderr).toBe(0);
    const saved = () => readFileSync(one.at('.config/krmhub/credentials.json'), 'utf8');
    expect(Object.keys(JSON.parse(saved()).tokens)).toEqual([registry.url]);
    expect(saved()).toContain(token);
    const whoami = await one.run(process.execPath, [command, 'whoami', '--registry', registry.url]);
    expect(whoami.stdout).toContain('builds');
    await one.mustSucceed(program, 'logout', host);
    expect(JSON.parse(saved()).tokens).toEqual({});
    expect(readFileSync(one.at('.docker/config.json'), 'utf8')).not.toContain(token);
  });
});
