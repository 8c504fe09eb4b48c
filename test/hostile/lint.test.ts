import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { krmhub, temporaryFolder } from '../running.js';
import { batches, CORPUS, firstUnsafe } from './corpus.js';
import type { HostileCase } from './hostile-case.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

/** Seconds of processor time for one process and its batch. */
const MAX_SECONDS = 60;
/** Megabytes of heap for lint: enough for every case. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=400' };

interface Report {
  diagnostics: { code: string; severity: string; message: string; file: string }[];
}

async function lint(cases: readonly HostileCase[], format: 'text' | 'json') {
  const names = cases.map(({ make }, index) => {
    const name = `case-${index}-${format}.yaml`;
    writeFileSync(path.join(folder, name), make());
    return name;
  });
  const finished = await krmhub(['lint', '--output', format, ...names], {
    cwd: folder,
    env: HEAP,
    maxProcessorSeconds: MAX_SECONDS,
  });
  return { ...finished, names };
}

describe.each(batches(CORPUS, 8).map((cases, index) => ({ cases, first: index * 8 })))(
  'lint of hostile documents from $first on',
  ({ cases }) => {
    it('checks each in bounded time and memory', async () => {
      const { code, stdout, stderr, names } = await lint(cases, 'json');
      expect(stderr).toBe('');
      expect(firstUnsafe(stdout)).toBeUndefined();
      const { diagnostics } = JSON.parse(stdout) as Report;
      const verdicts = cases.map(({ name, verdict }, index) => {
        const errors = diagnostics.filter(
          ({ file, severity }) => file === names[index] && severity === 'error',
        );
        return { name, verdict: verdict === 'either' ? verdict : errors.length > 0 ? 'refused' : 'taken' };
      });
      expect(verdicts).toEqual(cases.map(({ name, verdict }) => ({ name, verdict })));
      expect(code).toBe(diagnostics.some(({ severity }) => severity === 'error') ? 1 : 0);
      // Enough for every reader, and never as much as a hostile file can contain.
      for (const name of names) {
        expect(diagnostics.filter(({ file }) => file === name).length).toBeLessThanOrEqual(202);
      }
    });

    it('prints nothing that acts on a terminal', async () => {
      const { code, stdout, stderr } = await lint(cases, 'text');
      expect(code).toBeLessThan(2);
      expect(stderr).toBe('');
      expect(stdout).toMatch(/\d+ files: /);
      expect(firstUnsafe(stdout)).toBeUndefined();
    });
  },
);
