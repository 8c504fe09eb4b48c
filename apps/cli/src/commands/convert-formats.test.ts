import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROFILES, type ProfileReport } from '@krmhub/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, temporaryFolder } from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const convert = (...args: string[]) => runTest(['convert', ...args], { cwd: folder });
const files = async (name: string) =>
  (await readdir(path.join(folder, name), { recursive: true }))
    .filter((file) => file.endsWith('.yaml'))
    .sort();

describe('the output of a profile', () => {
  const some = ['set-namespace', 'render-chart', 'require-limits'].map((name) => path.join(fixtures, name));

  it.each(PROFILES)('of %s can be converted back to publishable definitions', async (profile) => {
    expectEnd(await convert(...some, '--to', profile, '--out', 'theirs', '--losses', 'losses.json'), 0);
    const losses = JSON.parse(await readFile(path.join(folder, 'losses.json'), 'utf8')) as ProfileReport;
    expectEnd(await convert('theirs/catalog.yaml', '--group', 'functions.example.com', '--out', 'out'), 0);
    const kinds = new Set((await files('out')).map((file) => file.split('/')[0]!.replace('.yaml', '')));
    expect(kinds.size).toBe(losses.functions);
    expectEnd(await runTest(['lint', 'out'], { cwd: folder }), 0);
  });
});

describe('a list with one bad image', () => {
  it('converts the other images, and reports omitted values with positions', async () => {
    const list = {
      version: '1',
      functions: [
        {
          image: 'ghcr.io/example-org/good:v1.0.0',
          documentation: 'https://example.com/good',
          builder: 'ci',
        },
        { image: 'ghcr.io/example-org/bad' },
      ],
    };
    await writeFile(path.join(folder, 'catalog.json'), JSON.stringify(list, null, 2));
    const io = await convert('catalog.json', '--out', 'out');
    expect(io.exitCode).toBe(1);
    expect(await files('out')).toEqual(['good/1.0.0.yaml']);
    expect(io.err()).toContain('catalog.json:10');
    expect(io.err()).toContain('the image ghcr.io/example-org/bad has no tag, and the release is unknown');
  });

  it('is rejected as another format', async () => {
    await writeFile(path.join(folder, 'catalog.json'), '{"version": "1", "functions": []}');
    const io = await convert('catalog.json', '--from', 'porch');
    expectEnd(io, 1, 'this is a kpt function list; expected --from porch');
  });
});
