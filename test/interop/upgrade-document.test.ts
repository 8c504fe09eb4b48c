import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { blocks, documentBlocks, promised } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { root, startRegistry } from '../running.js';
import { openContainerEngine, whyNoContainers } from './container-engine.js';
import { registryHost, titleWithReason } from './oci-tools.js';

const why = whyNoContainers();

it.skipIf(why !== undefined)(
  titleWithReason('docs/upgrade.md works as written, with podman', why),
  async () => {
    const engine = await openContainerEngine();
    const registry = await startRegistry(path.join(engine.folder, 'data'));
    try {
      const page = blocks(readFileSync(path.join(root, 'docs/upgrade.md'), 'utf8'));
      const own = page.filter(({ needs }) => needs === 'preview');
      expect(own.map(({ script }) => script)).toEqual(documentBlocks('docs/upgrade.md', 'preview'));
      const host = registryHost(registry);
      const end = '--end-of-block--';
      const session = own.map(
        ({ script }) => `${script.replaceAll('localhost:8080', host)}\necho; echo ${end}\n`,
      );
      const { status, stdout, stderr } = spawnSync(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', session.join('')],
        {
          cwd: engine.folder,
          encoding: 'utf8',
          env: { ...engine.env, ...registry.env, HOME: engine.folder },
        },
      );
      expect(status, stderr).toBe(0);
      const outputs = stdout.replaceAll(host, 'localhost:8080').split(`\n${end}\n`);
      for (const [at, { output, line }] of own.entries()) {
        if (output !== undefined) expect(outputs[at], `line ${line}`).toMatch(promised(output));
      }
    } finally {
      await registry.stop();
      await engine.remove();
    }
  },
  600_000,
);
