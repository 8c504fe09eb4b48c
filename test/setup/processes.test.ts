import { once } from 'node:events';
import { afterAll, describe, expect, it } from 'vitest';
import { endPrograms, killAtEnd, outputOf, spawn, spawnSync } from '../processes.js';

afterAll(endPrograms);

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
const stdio = ['ignore', 'pipe', 'inherit'] as const;

describe('spawnSync', () => {
  it.each([
    ['a program that hangs', 'wait'],
    ['a program whose output another one holds', 'exit'],
  ])('ends %s, and what it started', async (_, then) => {
    const sleeper = `sleep 600.${process.pid}`;
    const { error } = spawnSync(...sh(`${sleeper} & ${then}`), { timeout: 1_000 });
    expect(error).toMatchObject({ code: 'ETIMEDOUT' });
    await expect.poll(() => spawnSync('pgrep', ['-fx', sleeper]).status).toBe(1);
  });

  it('takes the arguments of Node.js', () => {
    expect(spawnSync('pwd', { cwd: '/', encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '/\n' });
    expect(spawnSync('no-such-program').error).toMatchObject({ code: 'ENOENT' });
    expect(spawnSync(...sh('exit 3')).status).toBe(3);
  });
});

describe('outputOf', () => {
  it('returns what a program prints, or throws what it prints', () => {
    expect(outputOf('cat', [], { input: 'text' })).toBe('text');
    expect(() => outputOf(...sh('echo out; echo error >&2; exit 3'))).toThrow(
      'sh -c echo out; echo error >&2; exit 3 failed: 3\nout\nerror\n',
    );
    expect(() => outputOf('no-such-program', [])).toThrow('ENOENT');
  });
});

describe('endPrograms', () => {
  it('kills the programs that still run', async () => {
    const child = spawn(...sh('exec sleep 600'), { stdio: [...stdio] });
    const closed = once(child, 'close');
    endPrograms();
    expect(await closed).toEqual([null, 'SIGKILL']);
  });

  it('kills the group of a detached program', async () => {
    const child = spawn(...sh('sleep 600 & echo $!; wait'), { stdio: [...stdio], detached: true });
    const [printed] = await once(child.stdout, 'data');
    endPrograms();
    await expect.poll(() => isAlive(Number(printed))).toBe(false);
  });

  it('kills a program as it was told to', async () => {
    const child = spawn(...sh('exec sleep 600'), { stdio: [...stdio] });
    killAtEnd(child, () => child.kill('SIGTERM'));
    const closed = once(child, 'close');
    endPrograms();
    expect(await closed).toEqual([null, 'SIGTERM']);
  });
});
