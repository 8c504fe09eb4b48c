import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createLog, readConfig, startRegistry as startRegistryInProcess } from '@krmhub/registry';
import { describe, expect, it, vi } from 'vitest';
import { benchCommands } from './bench-commands.js';
import { serveCommandFunction } from './command-function.js';
import { type Block, blocks, preparation, promised } from './document-blocks.js';
import { type Finished, finished, spawn } from './processes.js';
import { cleanEnvironment, root, startRegistry, temporaryFolder } from './running.js';

/**
 * Runs every command of every document as its reader would: the `sh` blocks of a document are one session
 * in one folder, against a new registry. A `text` block right after an `sh` block is the expected output:
 * its lines, in that order, where `…` matches anything.
 */

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'bench/performance.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (name) => `docs/${name}`,
  ),
].filter((name) => name.endsWith('.md'));

/** Commands that another part of the same run executes. */
const runElsewhere: Record<string, string> = {
  'npm start': 'test/start.test.ts runs it',
  'KRMHUB_SOURCE_ADDRESSES=127.0.0.1,::1 krmhub serve': 'is how the registry of this test is started',
  'npm test': 'is what runs these tests',
  'npm run demo': 'test/demo.test.ts runs it',
  'npm run package -- --executables': 'test/interop/executable.test.ts builds one',
  'npm run faults -- --count 1000': 'takes half an hour; test/faults/faults.test.ts runs a sample of it',
  'npm run faults -- --processes 3 --count 100':
    'takes a quarter of an hour; test/faults/several.test.ts runs a sample of it',
  'npm run oci-conformance': 'test/conformance/command.test.ts runs it with stand-ins for the suite',
  'npm run starlark-conformance -- ../shared/data/starlark/bazelbuild-go-suite/*.star':
    'test/starlark/conformance.test.ts runs the same files',
  'npm run kpt-e2e -- ../shared/data/kpt-e2e': 'is part of .ci/run; test/kpt-e2e/harness.test.ts tests it',
  'npx vitest run --project integration test/conformance': 'is part of what runs these tests',
  'npx vitest run --project replicas': 'is part of npm run test:interop',
  ...Object.fromEntries(benchCommands().map((command) => [command, 'test/bench.test.ts runs it'])),
};

/** The tests that run the blocks that need more than a registry, by the word after their `sh`. */
const runByOthers: Record<string, string | readonly string[]> = {
  preview: 'test/interop/upgrade-document.test.ts',
  podman: 'test/interop/container.test.ts',
  authoring: 'test/interop/authoring.test.ts',
  kubectl: ['test/interop/kubernetes.test.ts', 'test/interop/kubernetes-replicas.test.ts'],
  helm: 'test/interop/helm.test.ts',
  kustomize: 'test/interop/build-document.test.ts',
  systemd: 'test/interop/systemd.test.ts',
  oci: 'test/interop/oci-client.test.ts',
  porch: 'test/interop/porch.test.ts',
  kpt: 'test/interop/kpt.test.ts',
  flux: 'test/interop/flux.test.ts',
  argocd: 'test/interop/argocd-steps.ts',
  package: 'test/package.test.ts',
  executable: 'test/interop/executable.test.ts',
  dns: 'test/end-to-end/own-names.test.ts',
  s3: 'test/interop/server-documents.test.ts',
  postgres: 'test/interop/server-documents.test.ts',
  replicas: 'test/interop/server-documents.test.ts',
};

const documentedAddress = 'http://localhost:8080';

function blocksOf(name: string): Block[] {
  return blocks(readFileSync(path.join(root, name), 'utf8'));
}

const marker = '--krmhub-test-end-of-block--';

/** One bash for the whole document, so that variables and folders last as they do for a reader. */
async function session(
  scripts: readonly string[],
  start: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ blocks: string[]; ended: Finished }> {
  const text = scripts.map((script) => `${script}\necho; echo ${marker}\n`).join('');
  const file = path.join(cwd, '.session.sh');
  writeFileSync(file, start + text);
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', file], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = await finished(child);
  return { blocks: ended.stdout.split(`\n${marker}\n`), ended };
}

/** A folder that looks like a checkout to the commands in it, with its own data. */
function checkout(folder: string): void {
  for (const name of ['node_modules', 'test', 'package.json'])
    symlinkSync(path.join(root, name), path.join(folder, name));
  mkdirSync(path.join(folder, 'data'), { mode: 0o700 });
}

/**
 * The pages whose registry and commands are processes, as a reader starts them; for the other pages both
 * run in the thread of this test, where neither has to start.
 */
const realProcesses = new Set(['README.md', 'docs/use.md']);

async function startInProcess(data: string, settings: Record<string, string>) {
  const registry = await startRegistryInProcess({
    config: readConfig(settings, { host: '127.0.0.1', port: '0', data }),
    log: createLog('silent', { write: () => undefined }),
    inThread: { random: Math.random, start: true },
  });
  return { url: registry.url, stop: () => registry.close() };
}

// The sessions of two pages share the processors better than one, which often waits.
vi.setConfig({ maxConcurrency: 2 });

describe('documents', () => {
  it('are found', () => {
    expect(documents).toContain('README.md');
    expect(documents).toEqual(expect.arrayContaining([...realProcesses]));
    expect(documents.length).toBeGreaterThan(3);
  });

  it('leave to other tests only the commands that those run', () => {
    const left = documents.flatMap((name) =>
      blocksOf(name).flatMap(({ needs }) =>
        needs === undefined ? [] : `documentBlocks('${name}', '${needs}')`,
      ),
    );
    const run = Object.entries(runByOthers).flatMap(([need, files]) => {
      const text = [files]
        .flat()
        .map((file) => readFileSync(path.join(root, file), 'utf8'))
        .join('\n');
      // The formatter may write a call on several lines.
      const calls = text
        .replace(/\(\s+/g, '(')
        .replace(/,?\s+\)/g, ')')
        .replace(/,\s+/g, ', ');
      return left.filter((call) => call.endsWith(`'${need}')`) && calls.includes(call));
    });
    expect(run.sort()).toEqual(left.sort());
  });

  it.concurrent.each(documents.filter((name) => blocksOf(name).some(({ needs }) => needs === undefined)))(
    '%s works as written',
    async (name) => {
      const found = blocksOf(name).filter(
        ({ script, needs }) => needs === undefined && !(script.trim() in runElsewhere),
      );
      // A page may have no command of its own.
      if (found.length === 0) return;
      const { folder, remove } = temporaryFolder();
      checkout(folder);
      const isReal = realProcesses.has(name);
      const calls = temporaryFolder();
      const command = isReal ? undefined : await serveCommandFunction(calls.folder);
      const start = isReal ? startRegistry : startInProcess;
      const registry = await start(path.join(folder, 'data'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1,::1' });
      try {
        const env = cleanEnvironment(folder, {
          ...command?.env,
          KRMHUB_REGISTRY: registry.url,
          PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        });
        const { host } = new URL(registry.url);
        const scripts = found.map(({ script }) =>
          script.replaceAll(documentedAddress, registry.url).replaceAll('localhost:8080/', `${host}/`),
        );
        const before = name.startsWith('docs/') && name !== 'docs/README.md' ? preparation() : '';
        const prepared = (command?.script ?? '') + before;
        const { blocks: outputs, ended } = await session(scripts, prepared, folder, env);
        if (ended.code !== 0) {
          const failed = found[outputs.length - 1];
          throw new Error(
            `${name}:${failed?.line}: ended with ${ended.code}\n${failed?.script}\n${ended.stderr.slice(-2000)}`,
          );
        }
        for (const [index, block] of found.entries()) {
          if (block.output === undefined) continue;
          const said = outputs[index]!.replaceAll(registry.url, documentedAddress);
          expect(said, `${name}:${block.line}: ${block.script}`).toMatch(promised(block.output));
        }
      } finally {
        command?.close();
        await registry.stop();
        remove();
        calls.remove();
      }
    },
  );

  it('the page of an empty registry works as printed', async () => {
    const { folder, remove } = temporaryFolder();
    const calls = temporaryFolder();
    const command = await serveCommandFunction(calls.folder);
    const registry = await startInProcess(path.join(folder, 'data'), {});
    try {
      const page = await fetch(registry.url, { headers: { accept: 'text/html' } });
      const [steps = ''] = /<ol class="steps">[\s\S]*?<\/ol>/.exec(await page.text()) ?? [];
      const scripts = [...steps.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code]) =>
        pageText(code!)
          // As the script of the page does, and as its reader does where the command asks for a token.
          .replaceAll('https://REGISTRY', registry.url)
          .replace('krmhub login', 'krmhub login < data/admin.token'),
      );
      const env = cleanEnvironment(folder, command.env);
      const { blocks: outputs, ended } = await session(scripts, command.script, folder, env);
      expect(ended.code, ended.stderr).toBe(0);
      expect(outputs[3]).toContain('+    example.com/owner: shop-team\n');
    } finally {
      command.close();
      await registry.stop();
      remove();
      calls.remove();
    }
  });

  it('link to files and headings that exist', () => {
    const broken = documents.flatMap((name) =>
      [
        ...readFileSync(path.join(root, name), 'utf8')
          // What a command writes is not a link of the document.
          .replace(/^```[\s\S]*?^```$/gm, '')
          .matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
      ]
        .filter(([, file, anchor]) => {
          const target = path.join(root, file ? path.join(path.dirname(name), file) : name);
          return !existsSync(target) || (anchor !== undefined && !anchors(target).has(anchor));
        })
        .map(([, file, anchor]) => `${name} links to ${file}${anchor ? `#${anchor}` : ''}`),
    );
    expect(broken).toEqual([]);
  });
});

/** The text of HTML without what only a browser shows. */
function pageText(html: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  return html.replace(/<[^>]*>/g, '').replace(/&(#?\w+);/g, (_, name: string) => named[name]!);
}

describe('ARCHITECTURE.md', () => {
  const text = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  // A path starts at the root of the repository, or at a folder that its row names.
  const named = [...text.matchAll(/^\|.*\|$/gm)].flatMap(([row]) => {
    const names = [...row.matchAll(/`([\w./-]*[/.][\w./-]*)`/g)].map((match) => match[1]!);
    return names.map((name) => ({
      name,
      places: ['', ...names].map((folder) => path.join(root, folder, name)),
    }));
  });

  it('names files and folders that exist', () => {
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ places }) => !places.some((place) => existsSync(place)))).toEqual([]);
  });

  it('stays short', () => {
    // The lines of a table are not words.
    const words = text.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word));
    expect(words.length).toBeLessThanOrEqual(1_500);
  });
});

describe('docs/glossary.md', () => {
  it('has few terms, each once', () => {
    const rows = readFileSync(path.join(root, 'docs/glossary.md'), 'utf8').matchAll(/^\| (.+?) \| .+ \|$/gm);
    const terms = [...rows].map(([, term]) => term!).filter((term) => term !== 'term');
    expect(new Set(terms).size).toBe(terms.length);
    expect(terms.length).toBeLessThanOrEqual(40);
  });
});

/** Returns the anchors that GitHub gives the headings of a document. */
function anchors(file: string): Set<string> {
  const text = readFileSync(file, 'utf8').replace(/^```[\s\S]*?^```$/gm, '');
  return new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
