import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';
import { buildGoProgram } from './go-program.js';
import {
  manifestAt,
  missingReason,
  newToken,
  orasPython,
  type Reason,
  registryHost,
  titleWithReason,
  User,
  whyNoOrasPython,
} from './oci-tools.js';

/** Artifacts of any type and their referrers in our registry, by other projects' clients. */

const { folder, remove } = temporaryFolder();
const noRegctl = missingReason('regctl');
const { file: orasGo, whyNot: noOrasGo } = buildGoProgram('oras-go');
const noOrasCommand: Reason = missingReason('oras');
const noOrasPython = whyNoOrasPython();
const noMirror = hasDockerRegistry ? undefined : 'docker-registry is not installed';

const catalog = readFileSync(path.join(fixtures, 'catalogs/example-co.yaml'));
const type = 'application/vnd.example.thing.v1';
const layerType = 'application/vnd.example.thing.layer.v1+yaml';
const signatureType = 'application/vnd.example.signature.v1';

let registry: RunningRegistry;
let host: string;
let token: string;
let mirror: DockerRegistry | undefined;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  host = registryHost(registry);
  token = await newToken(registry, 'builds', '--scope', 'push', '--repository', 'team/*');
  if (hasDockerRegistry) mirror = await startDockerRegistry(path.join(folder, 'mirror'));
});
afterAll(async () => {
  await mirror?.stop();
  await registry?.stop();
  remove();
});

/** With a file and a signature of it. */
function publisher(): User {
  const user = new User(folder).storeCredentials(host, token);
  user.write('catalog.yaml', catalog);
  user.write('signature.json', '{"signed":true}');
  return user;
}

async function tagsOf(repository: string, at = host): Promise<string[]> {
  const answer = await fetch(`http://${at}/v2/${repository}/tags/list`);
  return ((await answer.json()) as { tags: string[] }).tags;
}

/** Number of chunks that the registry accepted, from its own metrics. */
async function chunksTaken(): Promise<number> {
  const metrics = await (await fetch(`${registry.url}/metrics`)).text();
  return Number(/requests_total\{method="PATCH",.*status="202"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

interface Referrers {
  mediaType: string;
  manifests: { digest: string; artifactType: string; annotations?: Record<string, string> }[];
}

async function referrersOf(repository: string, digest: string): Promise<Referrers> {
  const answer = await fetch(`${registry.url}/v2/${repository}/referrers/${digest}`);
  expect(answer.headers.get('content-type')).toBe('application/vnd.oci.image.index.v1+json');
  return (await answer.json()) as Referrers;
}

describe.skipIf(noRegctl !== undefined)(titleWithReason('regctl', noRegctl), () => {
  const put = (...more: string[]) => ['artifact', 'put', '--artifact-type', type, '-m', layerType, ...more];
  const putFile = (reference: string) => put('--file', 'catalog.yaml', '--file-title', reference);

  it('pushes an artifact, and gets the same bytes', async () => {
    const user = await publisher().regctlKnows(host);
    const reference = `${host}/team/regctl:v1`;
    await user.regctl(...putFile(reference));
    const { stdout } = await user.run('regctl', ['artifact', 'get', reference]);
    expect(stdout).toBe(catalog.toString());
    const body = await user.regctl('manifest', 'get', '--format', 'raw-body', reference);
    expect(JSON.parse(body)).toMatchObject({
      artifactType: type,
      layers: [{ mediaType: layerType, annotations: { 'org.opencontainers.image.title': 'catalog.yaml' } }],
    });
  });

  it('lists referrers with the referrers API, with filters', async () => {
    const user = await publisher().regctlKnows(host);
    const reference = `${host}/team/regctl-referrers:v1`;
    await user.regctl(...putFile(reference));
    const attach = (attached: string) =>
      user.regctl(
        ...['artifact', 'put', '--artifact-type', attached, '--subject', reference],
        ...['--file', 'signature.json', '--annotation', `dev.example.type=${attached}`],
      );
    await attach(signatureType);
    await attach('application/vnd.example.other.v1');
    const listed = JSON.parse(await user.regctl('artifact', 'list', '--format', '{{json .}}', reference));
    expect(JSON.stringify(listed)).toContain(signatureType);
    const filter = ['--filter-artifact-type', signatureType];
    const filtered = await user.regctl('artifact', 'list', ...filter, reference);
    expect(filtered.match(/ArtifactType:/g)).toHaveLength(1);
    expect(await user.regctl('artifact', 'tree', reference)).toContain(`: ${signatureType}`);
    expect(await tagsOf('team/regctl-referrers')).toEqual(['v1']);
    const digest = await user.regctl('image', 'digest', reference);
    const { manifests } = await referrersOf('team/regctl-referrers', digest);
    expect(manifests.find(({ artifactType }) => artifactType === signatureType)).toMatchObject({
      annotations: { 'dev.example.type': signatureType },
    });
  });

  it('sends a blob in chunks, and reads it back', async () => {
    const user = new User(folder).storeCredentials(host, token);
    const chunked = ['--blob-chunk', '100000', '--blob-max', '100000'];
    await user.regctl('registry', 'set', host, '--tls', 'disabled', '--skip-check', ...chunked);
    const blob = randomBytes(350_123);
    user.write('blob.bin', blob);
    const before = await chunksTaken();
    // The input is a stream: its size is unknown before its end.
    const sent = await user.run('sh', ['-c', `cat blob.bin | regctl blob put ${host}/team/chunks`]);
    expect(sent.code, sent.stderr).toBe(0);
    expect((await chunksTaken()) - before).toBe(4);
    const digest = sent.stdout.trim();
    await user.mustSucceed('sh', '-c', `regctl blob get ${host}/team/chunks ${digest} > back.bin`);
    expect(readFileSync(user.at('back.bin')).equals(blob)).toBe(true);
    const file = randomBytes(300_000);
    user.write('file.bin', file);
    await user.regctl(...put('--file', 'file.bin', `${host}/team/chunks:v1`));
    expect((await chunksTaken()) - before).toBeGreaterThan(6);
    await user.mustSucceed('sh', '-c', `regctl artifact get ${host}/team/chunks:v1 > again.bin`);
    expect(readFileSync(user.at('again.bin')).equals(file)).toBe(true);
  });

  it('stops at the quota of a repository', async () => {
    const small = await startRegistry(path.join(folder, 'small'), { KRMHUB_REPOSITORY_MEBIBYTES: '1' });
    const at = registryHost(small);
    const user = await new User(folder).storeCredentials(at, small.token).regctlKnows(at);
    const file = user.write('large.bin', randomBytes(2_000_000));
    const args = ['10', 'regctl', ...put('--file', file, `${at}/team/large:v1`)];
    const { code } = await user.run('timeout', args);
    await small.stop();
    // 124 is the exit code of `timeout`: the client would have retried without end.
    expect([0, 124]).not.toContain(code);
  });

  it('mounts a blob without naming its repository', async () => {
    const user = await publisher().regctlKnows(host);
    const blob = user.write('blob.bin', randomBytes(5_000));
    await user.regctl(...put('--file', blob, `${host}/team/first:v1`));
    await user.regctl(...put('--file', blob, `${host}/team/second:v1`));
    const manifests = ['first', 'second'].map((name) => manifestAt(registry.url, `team/${name}`, 'v1'));
    const [first, second] = await Promise.all(manifests);
    expect(second).toEqual(first);
  });

  it('lists and deletes tags, and the manifest stays', async () => {
    const user = await publisher().regctlKnows(host);
    const repository = `${host}/team/regctl-tags`;
    for (const tag of ['v1', 'v2']) await user.regctl(...putFile(`${repository}:${tag}`));
    const digest = await user.regctl('image', 'digest', `${repository}:v1`);
    await user.regctl('tag', 'delete', `${repository}:v1`);
    expect(await user.regctl('tag', 'ls', repository)).toBe('v2');
    expect(await user.regctl('manifest', 'head', `${repository}@${digest}`)).toContain(digest);
    await user.regctl('manifest', 'delete', `${repository}@${digest}`);
    expect(await user.regctl('tag', 'ls', repository)).toBe('');
  });

  it('copies an artifact with its referrers, and keeps digests', async () => {
    const user = await publisher().regctlKnows(host);
    const reference = `${host}/team/regctl-source:v1`;
    await user.regctl(...putFile(reference));
    await user.regctl(...put('--subject', reference, '--file', 'signature.json'));
    const target = `${host}/team/regctl-target:v1`;
    await user.regctl('image', 'copy', '--referrers', reference, target);
    const digest = await user.regctl('image', 'digest', reference);
    expect(await user.regctl('image', 'digest', target)).toBe(digest);
    const [from, to] = await Promise.all(
      ['source', 'target'].map((name) => referrersOf(`team/regctl-${name}`, digest)),
    );
    expect(to).toEqual(from);
    expect(to!.manifests).toHaveLength(1);
  });

  it('prints the missing permission of a token', async () => {
    const user = await publisher().regctlKnows(host);
    expect(await user.isRefused('regctl', ...putFile(`${host}/other/x:v1`))).toMatch(
      /does not have the repository .*other\/x.*krmhub token create NAME --scope push --repository other\/x/,
    );
  });
});

describe.skipIf(noOrasGo !== undefined)(titleWithReason('oras-go', noOrasGo), () => {
  const oras = (user: User, ...args: string[]) => user.mustSucceed(orasGo, ...args);
  const push = (user: User, reference: string) =>
    oras(user, 'push', '-artifact-type', type, reference, `catalog.yaml:${layerType}`);
  const attach = (user: User, reference: string) =>
    oras(user, 'attach', '-artifact-type', signatureType, reference, 'signature.json:application/json');

  it('pushes a file, and pulls it under its name', async () => {
    const user = publisher();
    const digest = await push(user, `${host}/team/oras:v1`);
    const { manifest } = await manifestAt(registry.url, 'team/oras', 'v1');
    expect(manifest).toMatchObject({ artifactType: type, layers: [{ mediaType: layerType }] });
    const anybody = new User(folder);
    expect(await oras(anybody, 'pull', `${host}/team/oras:v1`, '.')).toBe(digest);
    expect(readFileSync(anybody.at('catalog.yaml'))).toEqual(catalog);
  });

  it('finds a signature with the referrers API, without a tag', async () => {
    const user = publisher();
    const reference = `${host}/team/oras-signed:v1`;
    await push(user, reference);
    const signature = await attach(user, reference);
    expect(await oras(user, 'discover', reference)).toBe(`${signature} ${signatureType}`);
    expect(await oras(user, 'discover', reference, 'application/vnd.example.other.v1')).toBe('');
    expect(await tagsOf('team/oras-signed')).toEqual(['v1']);
  });

  it('copies with signatures of signatures to another repository, and keeps digests', async () => {
    const user = publisher();
    const source = `${host}/team/oras-source`;
    const digest = await push(user, `${source}:v1`);
    const signature = await attach(user, `${source}:v1`);
    const counter = await attach(user, `${source}@${signature}`);
    const target = `${host}/team/oras-target`;
    expect(await oras(user, 'copy', '-r', `${source}:v1`, `${target}:v2`)).toBe(digest);
    expect(await oras(user, 'discover', `${target}:v2`)).toBe(`${signature} ${signatureType}`);
    expect(await oras(user, 'discover', `${target}@${signature}`)).toBe(`${counter} ${signatureType}`);
    expect(await tagsOf('team/oras-target')).toEqual(['v2']);
    expect(await oras(user, 'copy', `${source}:v1`, `${host}/team/oras-alone:v1`)).toBe(digest);
    expect(await oras(user, 'discover', `${host}/team/oras-alone:v1`)).toBe('');
  });

  it.skipIf(noMirror !== undefined)(
    titleWithReason('copies with signatures to a registry without the referrers API, and back', noMirror),
    async () => {
      const user = publisher();
      const source = `${host}/team/oras-there:v1`;
      const digest = await push(user, source);
      const signature = await attach(user, source);
      const between = `${mirror!.host}/team/oras-there`;
      expect(await oras(user, 'copy', '-r', source, `${between}:v1`)).toBe(digest);
      expect(await tagsOf('team/oras-there', mirror!.host)).toContain(digest.replace(':', '-'));
      const back = `${host}/team/oras-back:v1`;
      expect(await oras(user, 'copy', '-r', `${between}:v1`, back)).toBe(digest);
      expect(await oras(user, 'discover', back)).toBe(`${signature} ${signatureType}`);
      expect(await tagsOf('team/oras-back')).toEqual(['v1']);
    },
  );

  it('prints the missing permission of a token, and asks a client without one to log in', async () => {
    const args = ['push', '-artifact-type', type, `${host}/other/x:v1`, `catalog.yaml:${layerType}`];
    expect(await publisher().isRefused(orasGo, ...args)).toContain(
      'denied: the token "builds" does not have the repository "other/x"',
    );
    const stranger = new User(folder);
    stranger.write('catalog.yaml', catalog);
    expect(await stranger.isRefused(orasGo, ...args)).toContain(
      'any user name and a registry token as the password',
    );
  });
});

describe.skipIf(noOrasCommand !== undefined)(titleWithReason('the oras command', noOrasCommand), () => {
  it('pushes, pulls, attaches, discovers and copies', async () => {
    const user = publisher();
    const oras = (command: string, ...args: string[]) =>
      user.mustSucceed('oras', command, '--plain-http', ...args);
    const reference = `${host}/team/oras-command:v1`;
    await oras('push', '--artifact-type', type, reference, `catalog.yaml:${layerType}`);
    mkdirSync(user.at('pulled'));
    await oras('pull', '--output', 'pulled', reference);
    expect(readFileSync(user.at('pulled/catalog.yaml'))).toEqual(catalog);
    await oras('attach', '--artifact-type', signatureType, reference, 'signature.json:application/json');
    expect(await oras('discover', '--format', 'json', reference)).toContain(signatureType);
    expect(await tagsOf('team/oras-command')).toEqual(['v1']);
    const target = `${host}/team/oras-command-copy:v1`;
    await user.mustSucceed('oras', 'cp', '-r', '--from-plain-http', '--to-plain-http', reference, target);
    expect(await oras('discover', '--format', 'json', target)).toContain(signatureType);
    const [from, to] = await Promise.all(
      ['oras-command', 'oras-command-copy'].map((name) => manifestAt(registry.url, `team/${name}`, 'v1')),
    );
    expect(to).toEqual(from);
  });
});

describe.skipIf(noOrasPython !== undefined)(
  titleWithReason('the oras library for Python', noOrasPython),
  () => {
    it('pushes and pulls with tokens that it fetches', async () => {
      const user = publisher();
      user.write(
        'client.py',
        `import sys, oras.client
host, token = sys.argv[1:]
client = oras.client.OrasClient(hostname=host, insecure=True, auth_backend="token")
client.auth.set_basic_auth("anybody", token)
target = host + "/team/python:v1"
answer = client.push(target=target, files=["catalog.yaml:${layerType}"])
assert answer.status_code == 201, answer.text
anybody = oras.client.OrasClient(hostname=host, insecure=True, auth_backend="token")
print(anybody.pull(target=target, outdir="pulled"), anybody.get_tags(target))
`,
      );
      const said = await user.mustSucceed(orasPython, 'client.py', host, token);
      expect(said).toContain("['v1']");
      expect(readFileSync(user.at('pulled/catalog.yaml'))).toEqual(catalog);
      const { manifest } = await manifestAt(registry.url, 'team/python', 'v1');
      expect(manifest).toMatchObject({ layers: [{ mediaType: layerType }] });
    });
  },
);
