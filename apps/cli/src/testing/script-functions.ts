import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RuntimeKind } from '@krmhub/schema/definition';
import { hostPlatform } from '../run/platform.js';
import { runTest, type TestRegistry, temporaryFolder } from './command-line.js';
import { KPTFILE } from './fn-package.js';
import { config } from './package-files.js';

/** A release of a function of `example.com`, version `v1`. */
export interface ScriptRelease {
  kind: string;
  release: string;
  /** `image` is the rest of a runtime: `container`. */
  runtime: Exclude<RuntimeKind, 'container'> | { container: object };
  /** Of Starlark or of a shell. */
  script?: string;
  /** Properties of the functionConfig besides `spec`. */
  properties?: object;
}

/** Publishes a release to a registry, which has its script, too. */
export async function publishScript(registry: TestRegistry, fn: ScriptRelease): Promise<void> {
  const { kind, release, runtime, script = '', properties = {} } = fn;
  const cwd = temporaryFolder();
  const run = async (...args: string[]) => {
    const io = await runTest(args, { cwd, env: registry.env });
    if (io.exitCode !== 0) throw new Error(io.err());
  };
  await writeFile(path.join(cwd, 'main.star'), script, { mode: 0o755 });
  let runs: object = { starlark: './main.star' };
  if (typeof runtime === 'object') runs = runtime;
  if (runtime === 'exec') {
    const [os, architecture] = hostPlatform().split('/');
    const reference = `${new URL(registry.url).host}/scripts/${kind.toLowerCase()}:${release}`;
    await run('push', '--exec', `${hostPlatform()}=main.star`, reference);
    const sha256 = createHash('sha256').update(script).digest('hex');
    const uri = `oci://${reference}`;
    runs = { exec: { platforms: [{ os, arch: architecture, bin: 'main.star', uri, sha256 }] } };
  }
  const version = {
    name: 'v1',
    idempotent: true,
    license: 'Apache-2.0',
    usage: `https://example.com/${kind}/README.md`,
    examples: [`https://example.com/${kind}/example.yaml`],
    runtime: runs,
    schema: { openAPIV3Schema: { type: 'object', description: 'What to do.', properties } },
  };
  const definition = {
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind: 'KRMFunctionDefinition',
    spec: {
      group: 'example.com',
      names: { kind },
      description: `What ${kind} does.`,
      publisher: 'Example Co',
      tags: ['mutator'],
      versions: [version],
    },
  };
  await writeFile(path.join(cwd, 'definition.yaml'), JSON.stringify(definition));
  await run('publish', 'definition.yaml', '--release', release, '--allow-breaking');
}

/** A Kptfile that runs functions by the type of their functionConfigs, and those; `more` is of each. */
export function kptPipeline(catalog: string, kinds: readonly string[], more = ''): Record<string, string> {
  const steps = kinds.map((kind) => `    - configPath: ${kind.toLowerCase()}.yaml\n`).join('');
  const annotations = `  annotations:\n    krmhub.dev/catalogs: ${catalog}\n`;
  return {
    'app/Kptfile': `${KPTFILE}${annotations}pipeline:\n  mutators:\n${steps}`,
    ...Object.fromEntries(kinds.map((kind) => [`app/${kind.toLowerCase()}.yaml`, config(kind, more)])),
  };
}
