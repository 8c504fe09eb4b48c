import { readFileSync } from 'node:fs';
import path from 'node:path';
import { proofText } from '@krmhub/catalog';
import { expect, it } from 'vitest';
import { startNameServer } from '../../apps/registry/src/testing/name-server.js';
import { type Block, blocks, documentBlocks, promised } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import { cleanEnvironment, root, startRegistry, temporaryFolder } from '../running.js';

/** Runs docs/own-names.md with a name server, in which the record of the page is added where the page says so. */

const PUBLIC_URL = 'https://krm.example.com';
const DOCUMENT = 'docs/own-names.md';

it('works as written, before and after the record is there', async () => {
  const all = blocks(readFileSync(path.join(root, DOCUMENT), 'utf8'));
  const dns = documentBlocks('docs/own-names.md', 'dns');
  expect(all.filter(({ needs }) => needs === 'dns').map(({ script }) => script)).toEqual(dns);
  const refused = all.findIndex(({ output }) => output?.startsWith('exit code 6') === true) + 1;
  expect(refused).toBeGreaterThan(1);

  const { folder, remove } = temporaryFolder();
  const names = await startNameServer();
  const registry = await startRegistry(path.join(folder, 'data'), {
    KRMHUB_PUBLIC_URL: PUBLIC_URL,
    KRMHUB_DNS_SERVERS: names.address,
  });
  const session = async (start: string, found: readonly Block[]) => {
    const end = '--end-of-block--';
    const script = found.map((block) => `${block.script}\necho; echo ${end}\n`).join('');
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', start + script], {
      cwd: folder,
      env: cleanEnvironment(folder, {
        KRMHUB_REGISTRY: registry.url,
        PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { code, stdout, stderr } = await finished(child);
    expect(code, stderr).toBe(0);
    const outputs = stdout.split(`\n${end}\n`);
    for (const [index, { line, output }] of found.entries()) {
      if (output !== undefined) expect(outputs[index], `${DOCUMENT}:${line}`).toMatch(promised(output));
    }
    return stderr;
  };
  try {
    const said = await session('export KRMHUB_TOKEN=$(cat data/admin.token)\n', all.slice(0, refused));
    const proof = proofText(PUBLIC_URL, 'shop');
    expect(said).toContain(proof);
    expect(readFileSync(path.join(root, DOCUMENT), 'utf8')).toContain(proof);
    names.records.set('_krmhub.shop.example.com', [proof]);
    await session('export KRMHUB_TOKEN=$(cat shop.token)\n', all.slice(refused));
  } finally {
    await registry.stop();
    await names.close();
    remove();
  }
});
