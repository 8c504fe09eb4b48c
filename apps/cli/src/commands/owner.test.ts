import { expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest } from '../testing/command-line.js';

const registry = fileRegistry();

const run = (...args: string[]) => runTest(['owner', ...args], { tty: false, env: registry.env });

it('says what is missing: an owner, a team, and a claim', async () => {
  expectEnd(await run('list'), 0);
  expect((await run('list', 'example.com')).err()).toContain('krmhub owner claim example.com --team TEAM');
  const unknown = await run('claim', 'example.com', '--team', 'platform');
  expect([unknown.exitCode, unknown.err()]).toEqual([2, expect.stringContaining('krmhub access apply')]);
  for (const command of ['verify', 'release']) {
    const missing = await run(command, 'example.com');
    expect([command, missing.exitCode, missing.err()]).toEqual([
      command,
      3,
      expect.stringContaining('no team has claimed example.com'),
    ]);
  }
});
