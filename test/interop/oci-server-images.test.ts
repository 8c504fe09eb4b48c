import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { Cosigner, noCosign } from './cosign.js';
import {
  manifestAt,
  missingReason,
  newToken,
  type Reason,
  registryHost,
  titleWithReason,
  User,
} from './oci-tools.js';

/** Built images, and signatures of releases, by other projects' clients. */

const { folder, remove } = temporaryFolder();
const noEngine: Reason =
  process.getuid?.() === 0
    ? (missingReason('buildah') ?? missingReason('podman'))
    : 'only root may make images in a folder';

let registry: RunningRegistry;
let host: string;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
});
afterAll(async () => {
  await registry?.stop();
  remove();
});

/** With images in a separate folder. */
function builder(): User {
  const user = new User(folder);
  for (const name of ['run', 'tmp']) mkdirSync(user.at(name));
  user.write(
    'storage.conf',
    `[storage]\ndriver = "vfs"\nrunroot = "${user.at('runroot')}"\ngraphroot = "${user.at('images')}"\n`,
  );
  user.write('containers.conf', '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n');
  user.write('registries.conf', 'unqualified-search-registries = []\n');
  // Uses the trust settings of the test, not of the machine.
  user.write('policy.json', '{"default":[{"type":"insecureAcceptAnything"}]}');
  Object.assign(user.env, {
    CONTAINERS_STORAGE_CONF: user.at('storage.conf'),
    CONTAINERS_CONF: user.at('containers.conf'),
    CONTAINERS_REGISTRIES_CONF: user.at('registries.conf'),
    XDG_RUNTIME_DIR: user.at('run'),
    TMPDIR: user.at('tmp'),
  });
  return user;
}

describe.skipIf(noEngine !== undefined)(titleWithReason('buildah and podman', noEngine), () => {
  it('push an image to our registry, and pull it by its digest', async () => {
    const token = await newToken(registry, 'builds', '--scope', 'push', '--repository', 'team/*');
    const reference = `${host}/team/built`;
    const user = builder();
    const login = ['login', '--tls-verify=false', '--username', 'anybody', '--password-stdin', host];
    expect(await user.run('buildah', login, token)).toMatchObject({ code: 0 });
    const container = await user.mustSucceed('buildah', 'from', 'scratch');
    user.write('hello.txt', 'hello\n');
    await user.mustSucceed('buildah', 'copy', '--quiet', container, 'hello.txt', '/hello.txt');
    await user.mustSucceed('buildah', 'commit', '--quiet', '--rm', container, 'localhost/built');
    const push = ['push', '--tls-verify=false', '--signature-policy', 'policy.json', 'localhost/built'];
    await user.mustSucceed('buildah', ...push, `docker://${reference}:v1`);
    const { status, digest } = await manifestAt(registry.url, 'team/built', 'v1');
    expect(status).toBe(200);

    const anybody = builder();
    const pull = ['pull', '--quiet', '--tls-verify=false', '--signature-policy', 'policy.json'];
    const image = await anybody.mustSucceed('podman', ...pull, `${reference}@${digest}`);
    const inspected = await anybody.mustSucceed(
      'podman',
      'image',
      'inspect',
      '--format',
      '{{.Digest}}',
      image,
    );
    expect(inspected).toBe(digest);
    expect(await user.isRefused('buildah', ...push, `docker://${host}/other/built:v1`)).toContain(
      'denied: the token "builds" does not have the repository "other/built"',
    );
  });
});

describe.skipIf(noCosign !== undefined)(titleWithReason('cosign', noCosign), () => {
  it('signs a release by its digest, as a tag and as a referrer, and verifies it', async () => {
    const definition = path.join(fixtures, 'functions/set-labels/1.0.0.yaml');
    const published = await krmhub(['publish', definition, '--release', '1.0.0'], { env: registry.env });
    expect(published.code, published.stderr).toBe(0);
    const repository = 'functions/functions.example.com/setlabels';
    const { digest } = await manifestAt(registry.url, repository, '1.0.0');
    const release = `${host}/${repository}@${digest}`;
    const user = new Cosigner(folder).storeCredentials(host, registry.token);
    await user.cosign('generate-key-pair');
    // Without a transparency log.
    const silent = ['--use-signing-config=false', '--tlog-upload=false', '--allow-http-registry'];
    const sign = ['sign', '--yes', '--key=cosign.key', ...silent];
    const verify = ['verify', '--insecure-ignore-tlog=true', '--allow-http-registry'];
    // Cosign wrote tags before version 3.
    const tagged = '--new-bundle-format=false';

    await user.cosign(...sign, tagged, release);
    expect(await user.cosign(...verify, tagged, '--key=cosign.pub', release)).toContain(digest);
    const tag = `${String(digest).replace(':', '-')}.sig`;
    expect((await manifestAt(registry.url, repository, tag)).status).toBe(200);

    await user.cosign(...sign, release);
    const answer = await fetch(`${registry.url}/v2/${repository}/referrers/${digest}`);
    const { manifests } = (await answer.json()) as { manifests: { artifactType: string }[] };
    const bundle = 'application/vnd.dev.sigstore.bundle.v0.3+json';
    expect(manifests.map(({ artifactType }) => artifactType)).toEqual([bundle]);
    expect(await user.cosign(...verify, '--key=cosign.pub', release)).toContain(digest);

    await user.cosign('generate-key-pair', '--output-key-prefix=other');
    for (const form of [[], [tagged]])
      expect(await user.cosignIsRefused(...verify, ...form, '--key=other.pub', release)).toContain(
        'no matching',
      );
  });
});
