import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createLog, readConfig, startRegistry } from '@krmhub/registry';
import { expect, it } from 'vitest';
import { blocks } from '../document-blocks.js';
import { krmhubHere } from '../run-here.js';
import { root, temporaryFolder } from '../running.js';
import { animation, type Scene } from './animation.js';

const image = path.join(root, 'docs/images/first-function.svg');
const documented = 'http://localhost:8080';

/** The commands of the README that the recording shows, and the lines of their output that it leaves out. */
const SHOWN: readonly { command: string; leaves?: RegExp }[] = [
  {
    command: 'krmhub init example.com/SetOwner --runtime starlark',
    leaves: /^(?:edit the lines| {2}krmhub)/,
  },
  { command: 'cat set-owner/main.star', leaves: /^#/ },
  { command: 'krmhub test set-owner' },
  {
    command: 'krmhub publish set-owner/definition.yaml --release 0.1.0 \\\n  --readme set-owner/README.md',
  },
  {
    command: `krmhub fn eval shop -c ${documented}/catalogs/default \\\n  --function example.com/v1alpha1/SetOwner --dry-run -- owner=shop-team`,
    leaves: /^\[/,
  },
];

it('the recording of the README shows what its commands write; UPDATE=1 records again', async () => {
  const { folder, remove } = temporaryFolder();
  const registry = await startRegistry({
    config: readConfig({}, { host: '127.0.0.1', port: '0', data: path.join(folder, 'data') }),
    log: createLog('silent', { write: () => undefined }),
    inThread: { random: Math.random, start: true },
  });
  try {
    const token = readFileSync(path.join(folder, 'data/admin.token'), 'utf8').trim();
    const scenes: Scene[] = [];
    for (const { command, leaves } of SHOWN) {
      const output = await run(command.replaceAll(documented, registry.url), folder, {
        KRMHUB_REGISTRY: registry.url,
        KRMHUB_TOKEN: token,
      });
      // The digest depends on the port, which is in the URL of the script.
      const text = output.replaceAll(registry.url, documented).replace(/(sha256:)[0-9a-f]{64}/g, '$1…');
      const lines = text.trimEnd().replaceAll('\t', '  ').split('\n');
      scenes.push({ command, output: lines.filter((line) => !leaves?.test(line)) });
    }
    const recorded = animation(scenes, 'A terminal: a function is written, tested, published, and run');
    if (process.env.UPDATE === '1') writeFileSync(image, recorded);
    expect(recorded).toBe(readFileSync(image, 'utf8'));
  } finally {
    await registry.close();
    remove();
  }
});

it('the recording shows commands of the README', () => {
  const readme = blocks(readFileSync(path.join(root, 'README.md'), 'utf8'))
    .map(({ script }) => onOneLine(script.replaceAll('npx ', '')))
    .join('\n');
  for (const { command } of SHOWN.filter(({ command }) => command.startsWith('krmhub')))
    expect(readme).toContain(onOneLine(command));
});

const onOneLine = (script: string) => script.replace(/\s*\\\n\s*/g, ' ');

/** Runs a command of the recording, and what the README does besides it. */
async function run(command: string, cwd: string, env: Record<string, string>): Promise<string> {
  const words = onOneLine(command).split(' ');
  if (words[0] === 'cat') return readFileSync(path.join(cwd, words[1]!), 'utf8');
  if (words[1] === 'publish') {
    const definition = path.join(cwd, words[2]!);
    writeFileSync(definition, readFileSync(definition, 'utf8').replaceAll('# CHANGE:', '#'));
  }
  if (words[1] === 'fn') {
    mkdirSync(path.join(cwd, 'shop'));
    cpSync(path.join(cwd, 'set-owner/examples/basic/input/resources.yaml'), path.join(cwd, 'shop/web.yaml'));
  }
  const { code, stdout, stderr } = await krmhubHere(words.slice(1), { cwd, env });
  expect(code, stderr).toBe(0);
  return words[1] === 'init' ? stderr + stdout : stdout;
}
