import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ARTIFACT_MEDIA_TYPES, computeDigest, MEDIA_TYPES } from '@krmhub/oci';
import { scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder } from '../testing/command-line.js';

const SCRIPT = 'for resource in ctx.resource_list["items"]:\n    resource["metadata"]["name"] = "changed"\n';
const root = temporaryFolder();
const registry = fileRegistry();
let host: string;
let folder: string;
beforeAll(async () => {
  ({ host } = new URL(registry.url));
});
let group: string;
let count = 0;
beforeEach(() => {
  folder = mkdtempSync(path.join(root, 'work-'));
  group = `g${count++}.example.com`;
  put({ 'fn/definition.yaml': definition('./main.star # ours'), 'fn/main.star': SCRIPT });
});

const version = (name: string, script: string) => `  - name: ${name}
    idempotent: true
    license: Apache-2.0
    usage: https://example.com/README.md
    examples: [https://example.com/example.yaml]
    runtime:
      starlark: ${script}
    schema:
      openAPIV3Schema:
        type: object
        description: What to do.
        properties:
          owner: {type: string, description: Who owns the resources.}
`;

function definition(...scripts: string[]): string {
  return `# The function.
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: ${group}
  names: {kind: SetOwner}
  description: Sets the owner of all resources.
  publisher: Example Co
  home: https://example.com
  maintainers: [team@example.com]
  tags: [mutator]
  versions:
${scripts.map((script, index) => version(`v${index + 1}`, script)).join('')}`;
}

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

const run = (...args: string[]) => runTest(args, { cwd: folder, env: registry.env });

async function runs(...args: string[]): Promise<string> {
  const io = await run(...args);
  expect(io.exitCode, io.err()).toBe(0);
  return io.out() + io.err();
}

async function fetched(target: string): Promise<Uint8Array | undefined> {
  const headers = { authorization: `Bearer ${registry.token}`, accept: MEDIA_TYPES.image };
  const response = await fetch(`${registry.url}${target}`, { headers });
  return response.status === 404 ? undefined : new Uint8Array(await response.arrayBuffer());
}

/** The one file of an artifact, with the digest of its manifest. */
async function artifact(repository: string, name: string) {
  const manifest = await fetched(`/v2/${repository}/manifests/${name}`);
  if (manifest === undefined) return undefined;
  const { artifactType, layers } = JSON.parse(Buffer.from(manifest).toString());
  expect(layers).toHaveLength(1);
  const bytes = await fetched(`/v2/${repository}/blobs/${layers[0].digest}`);
  return { artifactType, digest: computeDigest(manifest), text: Buffer.from(bytes!).toString() };
}

describe('krmhub push of a definition with a script beside it', () => {
  it('pushes the script first, and the definition with its reference and digest', async () => {
    const target = `${host}/team/set-owner:1.0.0`;
    const text = await runs('push', 'fn/definition.yaml', target);
    const script = await artifact('team/set-owner/script', '1.0.0');
    expect(script).toMatchObject({ artifactType: ARTIFACT_MEDIA_TYPES.starlark.artifact, text: SCRIPT });
    const reference = `${host}/team/set-owner/script@${script!.digest}`;
    expect(text).toContain(`pushed fn/main.star as ${reference.replace('@', ':1.0.0@')}\n`);
    const pushed = await artifact('team/set-owner', '1.0.0');
    expect(pushed?.text).toBe(definition(`oci://${reference} # ours`));
    // The file of the author stays as it is.
    expect(readFileSync(path.join(folder, 'fn/definition.yaml'), 'utf8')).toBe(
      definition('./main.star # ours'),
    );
    expect(await runs('push', 'fn/definition.yaml', target)).toContain('unchanged: fn/main.star as');
  });

  it('pins the script of each API version', async () => {
    put({
      'fn/definition.yaml': definition('"./main.star"', "'sub/two.star'"),
      'fn/sub/two.star': 'x = 1\n',
    });
    await runs('push', 'fn/definition.yaml', `${host}/team/two:1.0.0`);
    const { text } = (await artifact('team/two', '1.0.0'))!;
    const digests = [...text.matchAll(/^ +starlark: oci:\/\/\S+\/team\/two\/script@(sha256:\w{64})$/gm)];
    const scripts = await Promise.all(digests.map(([, digest]) => artifact('team/two/script', digest!)));
    expect(scripts.map((one) => one?.text)).toEqual([SCRIPT, 'x = 1\n']);
  });

  it.each<[string, () => void, code: number, message: string]>([
    ['does not exist', () => rmSync(path.join(folder, 'fn/main.star')), 3, 'fn/main.star does not exist'],
    [
      'has errors',
      () => put({ 'fn/main.star': 'x = = 1\n' }),
      1,
      'cannot use the script fn/main.star: 1 error',
    ],
    [
      'is outside the folder',
      () => put({ 'fn/definition.yaml': definition('../main.star'), 'main.star': SCRIPT }),
      4,
      'is outside the folder of its definition',
    ],
    [
      'is a link to a file outside',
      () => {
        put({ 'secret.star': SCRIPT });
        rmSync(path.join(folder, 'fn/main.star'));
        symlinkSync('../secret.star', path.join(folder, 'fn/main.star'));
      },
      4,
      'is outside the folder of its definition',
    ],
  ])('sends nothing if the script %s', async (_, change, code, message) => {
    change();
    const server = await scriptedServer((_, response) => response.writeHead(500).end());
    try {
      const env = { KRMHUB_REGISTRY: `http://${server.host}`, KRMHUB_TOKEN: 'x' };
      for (const args of [
        ['push', 'fn/definition.yaml', `${server.host}/team/refused:1.0.0`],
        ['publish', 'fn/definition.yaml', '--release', '1.0.0'],
      ]) {
        expectEnd(await runTest(args, { cwd: folder, env }), code, message);
      }
      expect(server.requests).toEqual([]);
    } finally {
      await server.close();
    }
  });
});

describe('krmhub publish of a definition with a script beside it', () => {
  const publish = (...args: string[]) => runs('publish', 'fn/definition.yaml', '--release', '1.0.0', ...args);
  const published = async () => {
    const bytes = await fetched(`/api/v1/functions/${group}/SetOwner/releases/1.0.0/definition.yaml`);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString();
  };

  it('pushes the script, and publishes its reference and digest', async () => {
    expect(await publish()).toContain('pushed fn/main.star as ');
    const script = await artifact(`scripts/${group}/set-owner`, '1.0.0');
    expect(script).toMatchObject({ artifactType: ARTIFACT_MEDIA_TYPES.starlark.artifact, text: SCRIPT });
    const reference = `oci://${host}/scripts/${group}/set-owner@${script!.digest}`;
    expect(await published()).toBe(definition(`${reference} # ours`));
  });

  it('needs only a token that can publish the group', async () => {
    const created = await run('token', 'create', 'ci', '--scope', 'publish', '--group', group);
    const other = await run('token', 'create', 'other', '--scope', 'publish', '--group', 'other.example.com');
    const publishAs = (token: string) =>
      runTest(['publish', 'fn/definition.yaml', '--release', '1.0.0'], {
        cwd: folder,
        env: { ...registry.env, KRMHUB_TOKEN: token.trim() },
      });
    expect((await publishAs(other.out())).err()).toContain(`does not have the group "${group}"`);
    const io = await publishAs(created.out());
    expect(io.exitCode, io.err()).toBe(0);
    const script = await artifact(`scripts/${group}/set-owner`, '1.0.0');
    expect(await published()).toBe(
      definition(`oci://${host}/scripts/${group}/set-owner@${script!.digest} # ours`),
    );
  });

  it('changes nothing the second time, and rejects another script for the release', async () => {
    await publish();
    const before = [await published(), await artifact(`scripts/${group}/set-owner`, '1.0.0')];
    const again = await publish();
    expect(again).toContain('unchanged: fn/main.star as ');
    expect(again).toContain('\tunchanged\t');
    put({ 'fn/main.star': `${SCRIPT}x = 1\n` });
    expectEnd(await run('publish', 'fn/definition.yaml', '--release', '1.0.0'), 1, '1.0.0');
    expect([await published(), await artifact(`scripts/${group}/set-owner`, '1.0.0')]).toEqual(before);
  });

  it('pushes to --script-repository', async () => {
    await publish('--script-repository', `${host}/team/own-scripts`);
    const script = await artifact('team/own-scripts', '1.0.0');
    expect(script?.text).toBe(SCRIPT);
    expect(await published()).toBe(definition(`oci://${host}/team/own-scripts@${script!.digest} # ours`));
    expect(await artifact(`scripts/${group}/set-owner`, '1.0.0')).toBeUndefined();
    for (const end of [':v1', `@sha256:${'a'.repeat(64)}`]) {
      const repository = `${host}/team/own-scripts${end}`;
      const io = await run('publish', 'fn/definition.yaml', '--script-repository', repository);
      expectEnd(io, 2, 'has a tag or a digest');
    }
  });

  it('publishes nothing if the script cannot be pushed', async () => {
    const server = await scriptedServer((_, response) => response.writeHead(403).end());
    try {
      const repository = `${server.host}/team/own-scripts`;
      const args = ['--release', '1.0.0', '--script-repository', repository];
      expect((await run('publish', 'fn/definition.yaml', ...args)).exitCode).not.toBe(0);
      expect(server.requests.length).toBeGreaterThan(0);
    } finally {
      await server.close();
    }
    expect(await published()).toBeUndefined();
  });

  it('asks for the release, which no script has', async () => {
    expectEnd(await run('publish', 'fn/definition.yaml'), 2, '--release');
  });

  it('pushes nothing with --dry-run', async () => {
    expect(await publish('--dry-run')).toContain('nothing was published');
    expect(await artifact(`scripts/${group}/set-owner`, '1.0.0')).toBeUndefined();
    expect(await published()).toBeUndefined();
  });
});
