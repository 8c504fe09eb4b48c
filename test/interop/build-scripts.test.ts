import { realpathSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuildUser } from './build-user.js';
import { isInstalled } from './container-engine.js';
import { CONFIG_MAP, configText, sha256 } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';

/** Starlark scripts that a functionConfig names itself, in `krmhub build`. */

const why = isInstalled('kubectl') ? undefined : 'kubectl not installed';
const SCRIPT = `for resource in ctx.resource_list["items"]:
    resource["data"]["owner"] = "platform"
`;
const ALLOWED = ['--enable-alpha-plugins', '--enable-star'];

describe.skipIf(why !== undefined)(titleWithReason('krmhub build with inline scripts', why), () => {
  let folder: string;
  let user: BuildUser;
  let server: Server;
  let origin: string;
  let asked = 0;

  beforeAll(async () => {
    folder = realpathSync(await mkdtemp(path.join(tmpdir(), 'krmhub-inline-scripts-')));
    user = new BuildUser(folder);
    server = createServer((request, response) => {
      asked++;
      if (request.url !== '/owner.star') return response.writeHead(404).end();
      return response.end(SCRIPT);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server?.close();
    server?.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  });

  /** Builds a kustomization whose transformer has this runtime, with flags of kustomize. */
  async function build(starlark: string, flags: readonly string[]) {
    user.write({
      'app/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [set.yaml]\n',
      'app/settings.yaml': CONFIG_MAP,
      'app/set.yaml': configText('Own', { runtime: `starlark:\n  ${starlark}\n` }),
      'app/scripts/owner.star': SCRIPT,
    });
    asked = 0;
    const built = await user.krmhub('build', 'app', '--kustomize', 'kubectl', '--', ...flags);
    expect(user.leftovers()).toEqual([]);
    return built;
  }
  const url = (digest = sha256(SCRIPT)) => `url: ${origin}/owner.star#sha256=${digest}`;

  it('runs a path relative to the kustomization, and a URL with the digest of the script', async () => {
    for (const reference of ['path: scripts/owner.star', url()]) {
      const { code, stdout, stderr } = await build(reference, ALLOWED);
      expect([reference, code, stderr]).toEqual([reference, 0, '']);
      expect(stdout).toContain('  owner: platform\n');
    }
  });

  it.each([
    [[], '-- --enable-alpha-plugins --enable-star'],
    [['--enable-alpha-plugins'], '-- --enable-star'],
    [['--enable-star'], '-- --enable-alpha-plugins'],
    [['--enable-alpha-plugins', '--enable-exec'], '-- --enable-star'],
    [['--enable-alpha-plugins', '--enable-star=false'], '-- --enable-star'],
  ])('needs both flags: %j', async (flags, needed) => {
    for (const reference of ['path: scripts/owner.star', url()]) {
      const { code, stdout, stderr } = await build(reference, flags);
      expect([code, stdout, stderr]).toEqual([
        4,
        '',
        expect.stringContaining('it has its own runtime, the script'),
      ]);
      expect(stderr).toContain(`allow it with: ${needed}\n`);
    }
    expect(asked).toBe(0);
  });

  it('refuses a URL without a digest, and fetches nothing', async () => {
    for (const reference of [`url: ${origin}/owner.star`, `url: ${origin}/v1.2.3/owner.star`]) {
      const { code, stdout, stderr } = await build(reference, ALLOWED);
      expect([code, stdout, stderr]).toEqual([4, '', expect.stringContaining('it has no digest')]);
      expect(asked).toBe(0);
    }
  });

  it('refuses a script with another digest', async () => {
    const { code, stdout, stderr } = await build(url('a'.repeat(64)), ALLOWED);
    expect([code, stdout, stderr]).toEqual([
      4,
      '',
      expect.stringContaining('does not match the digest in its URL'),
    ]);
    expect(asked).toBeGreaterThan(0);
  });

  it.each([
    ['path: scripts/missing.star', 3, 'missing.star'],
    ['path: ../set.star', 3, 'set.star'],
  ])('refuses %s, which does not exist', async (reference, expected, message) => {
    const { code, stdout, stderr } = await build(reference, ALLOWED);
    expect([code, stdout, stderr]).toEqual([expected, '', expect.stringContaining(message)]);
  });
});
