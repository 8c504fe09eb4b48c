import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { krmhub, type RunningRegistry, root, startRegistry } from '../running.js';
import { BuildUser } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { definitionText } from './function-catalog.js';
import { ImageBuilder } from './function-images.js';
import { titleWithReason } from './oci-tools.js';

const why = whyNoContainers();
const CONFIG_MAP = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made"}}';
const ADD = `exec sed 's|"items":\\[\\]|"items":[${CONFIG_MAP}]|'`;

describe.skipIf(why !== undefined)(titleWithReason('the program of docs/embed.md', why), () => {
  // Below the root, so that Node.js finds the packages of the checkout.
  const program = path.join(root, `test/embed-${process.pid}.mjs`);
  let engine: ContainerEngine;
  let registry: RunningRegistry;
  let user: BuildUser;

  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    registry = await startRegistry(path.join(engine.folder, 'data'));
    user = new BuildUser(path.join(engine.folder, 'user'), engine);
    const image = await new ImageBuilder(engine, registry).push('add', ADD);
    const container = { container: { image: image.tagged, sha256: image.sha256 } };
    const definition = path.join(engine.folder, 'add.yaml');
    writeFileSync(definition, definitionText('Add', container));
    const { code, stderr } = await krmhub(['publish', definition, '--release', '1.0.0'], {
      env: registry.env,
    });
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    const [, text] = /```js\n([\s\S]*?)```/.exec(readFileSync(path.join(root, 'docs/embed.md'), 'utf8'))!;
    writeFileSync(program, text!);
  }, 120_000);

  afterAll(async () => {
    rmSync(program, { force: true });
    user?.endAll();
    await registry?.stop();
    await engine?.remove();
  });

  const run = (config: object) => {
    user.write({ 'config.json': JSON.stringify(config) });
    return user.run(process.execPath, [program, `${registry.url}/catalogs/default`, 'config.json']);
  };

  it('runs what the catalog has for a functionConfig', async () => {
    const done = await run({ apiVersion: 'example.com/v1', kind: 'Add', metadata: { name: 'add' } });
    expect([done.code, done.code === 0 ? '' : done.stderr]).toEqual([0, '']);
    expect(JSON.parse(done.stdout)).toMatchObject({ items: [JSON.parse(CONFIG_MAP)] });
  });

  it('says that no catalog has the kind', async () => {
    const done = await run({ apiVersion: 'example.com/v1', kind: 'Missing', metadata: { name: 'add' } });
    expect(done.code).toBe(1);
    expect(done.stderr).toMatch(/Missing[\s\S]*not[\s-]found/);
  });
});
