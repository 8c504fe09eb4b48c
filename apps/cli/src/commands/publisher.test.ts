import { describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const registry = fileRegistry();

const add = (...args: string[]) =>
  runTest(['publisher', 'add', ...args, '--id', 'repositoryId=1', '--workflow', 'release.yml'], {
    tty: false,
    env: registry.env,
  });

describe('publisher add', () => {
  it('warns while the registry has no public URL', async () => {
    const io = await add('warned.example.com', '--github', 'example/functions');
    expectEnd(io, 0);
    expect(io.err()).toContain('the workflow cannot publish yet. The operator sets KRMHUB_PUBLIC_URL');
  });

  it.each([
    ['https://github.com/example/functions', 0],
    ['https://github.com/example/functions.git', 0],
    ['https://github.com/example/functions/', 0],
    ['https://example.com/example/functions', 2],
    ['https://github.com/example', 2],
    ['https://github.com/example/functions?tab=readme', 2],
  ])('takes the URL of a repository, %s', async (url, code) => {
    const io = await add(`url${url.length}.example.com`, '--github', url);
    expect([io.exitCode ?? 0, io.err()]).toEqual([
      code,
      expect.stringContaining(
        code === 0 ? 'github example/functions release.yml may publish' : 'is not a repository of github.com',
      ),
    ]);
  });
});
