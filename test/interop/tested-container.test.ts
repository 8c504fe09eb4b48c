import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Finished, krmhub, type RunningRegistry, root, startRegistry } from '../running.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { definitionText } from './function-catalog.js';
import { type FunctionImage, ImageBuilder } from './function-images.js';
import { titleWithReason } from './oci-tools.js';

/** `krmhub test` with functions in containers of podman: what works, and what needs more than a function gets. */

const why = whyNoContainers();
const minutes = 60_000;

/** Sets an annotation. With `needs`, it also does what only root can do, or what needs a network. */
const FUNCTION = `
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { parseDocument } from 'yaml';

const fail = (reason) => {
  console.error(reason);
  process.exit(1);
};
const document = parseDocument(readFileSync(0, 'utf8'));
if (document.errors.length > 0) fail('cannot read the input: ' + document.errors[0].message);
const { items, functionConfig } = document.toJS();
const { owner, needs } = functionConfig ?? {};
if (typeof owner !== 'string') fail('owner is required');
const done = () => {
  items.forEach((_, at) => document.setIn(['items', at, 'metadata', 'annotations', 'example.com/owner'], owner));
  process.stdout.write(document.toString({ lineWidth: 0 }));
};
if (needs === 'root') {
  try {
    writeFileSync('/etc/owner', owner);
  } catch (error) {
    fail('cannot write /etc/owner: ' + error.code);
  }
}
if (needs === 'network') {
  connect({ host: '192.0.2.1', port: 80 }, done).on('error', ({ code }) => fail('cannot connect: ' + code));
} else done();
`;

const INPUT = `apiVersion: v1
kind: ConfigMap
metadata:
  name: web # the shop
  annotations:
    team: shop
data:
  a: b
`;

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'js' },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    banner: { js: '#!/usr/bin/env node' },
  });
  return outputFiles[0]!.text;
}

describe.skipIf(why !== undefined)(titleWithReason('krmhub test with containers of podman', why), () => {
  let engine: ContainerEngine;
  let registry: RunningRegistry;
  let image: FunctionImage;
  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    registry = await startRegistry(path.join(engine.folder, 'data'));
    image = await new ImageBuilder(engine, registry).pushNode('set-owner', await bundled(FUNCTION));
    const runtime = { container: { image: image.tagged, sha256: image.sha256 } };
    for (const needs of ['nothing', 'root', 'network']) writeFunction(needs, runtime);
  }, 10 * minutes);
  afterAll(async () => {
    await registry?.stop();
    await engine?.remove();
  }, 2 * minutes);

  function writeFunction(needs: string, runtime: object): void {
    const put = (name: string, text: string) => {
      const file = path.join(engine.folder, needs, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    };
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        description: 'The owner.',
        required: ['owner'],
        properties: {
          owner: { type: 'string', description: 'Who owns the resources.' },
          needs: { type: 'string', description: 'What it needs.' },
        },
      },
    };
    const definition = JSON.parse(definitionText('SetOwner', runtime));
    definition.spec.versions[0].schema = schema;
    put('definition.yaml', JSON.stringify(definition));
    put('examples/basic/input/web.yaml', INPUT);
    put(
      'examples/basic/fn-config.yaml',
      `apiVersion: example.com/v1\nkind: SetOwner\nmetadata:\n  name: owner\nowner: platform\nneeds: ${needs}\n`,
    );
    put(
      'examples/basic/expected/web.yaml',
      INPUT.replace('shop\ndata', 'shop\n    example.com/owner: platform\ndata'),
    );
  }

  const run = (...args: string[]): Promise<Finished> =>
    krmhub(args, {
      cwd: engine.folder,
      env: { ...registry.env, ...(engine.env as Record<string, string>), KRMHUB_KEY_PASSWORD: '' },
    });
  const test = (folder: string, ...args: string[]) => run('test', folder, '--engine', 'podman', ...args);

  it(
    'fails an image that does not know nobody, and says what it needs',
    async () => {
      const context = path.join(engine.folder, 'stranger');
      mkdirSync(context);
      writeFileSync(path.join(context, 'passwd'), '');
      writeFileSync(path.join(context, 'Containerfile'), `FROM ${image.tagged}\nCOPY passwd /etc/passwd\n`);
      await engine.podman('build', '--tls-verify=false', '--tag', 'localhost/stranger', context);
      const { code, stdout, stderr } = await test('nothing', '--image', 'localhost/stranger');
      expect(code, stdout + stderr).toBe(1);
      expect(stdout).toContain('[FAIL] unprivileged: it does not run with --user nobody');
      expect(stdout).toContain('nobody:x:65534:65534');
      expect(stdout).toContain('[PASS] resource-list\n');
    },
    15 * minutes,
  );

  it(
    'passes a good function, and attaches the report with the digest of the image',
    async () => {
      const { code, stdout, stderr } = await test('nothing');
      expect(code, stdout + stderr).toBe(0);
      for (const name of ['resource-list', 'unprivileged', 'idempotent', 'rejects-config', 'example basic']) {
        expect(stdout).toContain(`[PASS] ${name}\n`);
      }
      const published = await run('publish', 'nothing/definition.yaml', '--release', '1.0.0');
      expect(published.code, published.stderr).toBe(0);
      expect((await run('keygen')).code).toBe(0);
      const signed = ['--release', '1.0.0', '--key', 'krmhub.key'];
      for (const more of [[], ['--bundle', 'report.json']]) {
        const attested = await test('nothing', ...signed, ...more);
        expect(attested.code, attested.stdout + attested.stderr).toBe(0);
      }
      const { payload } = JSON.parse(
        readFileSync(path.join(engine.folder, 'report.json'), 'utf8'),
      ).dsseEnvelope;
      const { configuration, passedTests } = JSON.parse(Buffer.from(payload, 'base64').toString()).predicate;
      expect(configuration[1]).toMatchObject({ name: 'v1 container', digest: { sha256: image.sha256 } });
      expect(passedTests).toContain('unprivileged');
      const shown = await run('show', 'example.com/SetOwner', '-o', 'json');
      expect(JSON.parse(shown.stdout).newest.tests).toMatchObject([{ result: 'passed' }]);
    },
    15 * minutes,
  );

  it.each([
    ['root', /cannot write \/etc\/owner: E(ACCES|ROFS|PERM)/],
    ['network', /cannot connect: E(NETUNREACH|HOSTUNREACH|ADDRNOTAVAIL)/],
  ])(
    'fails a function that needs %s, and names the check',
    async (needs, reason) => {
      const { code, stdout, stderr } = await test(needs);
      expect(code, stdout + stderr).toBe(1);
      expect(stdout).toContain('[FAIL] unprivileged: it fails as nobody without network access\n');
      expect(stdout).toMatch(/^\[FAIL\] resource-list: /m);
      expect(stdout).toMatch(reason);
    },
    15 * minutes,
  );
});
