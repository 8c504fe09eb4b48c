import { describe, expect, it } from 'vitest';
import { FairQueue } from './fair-queue.js';

/** A queue whose work ends when the test says so, and what has begun so far. */
function scripted(options: ConstructorParameters<typeof FairQueue>[0]) {
  const queue = new FairQueue(options);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    begun,
    settle,
    run: (client: string, name: string) =>
      queue.run(client, () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      }),
    async end(...names: string[]) {
      for (const name of names) {
        ends.get(name)!();
        await settle();
      }
    },
  };
}

describe('a fair queue', () => {
  it('lets clients take turns, however much one of them asks for', async () => {
    const { run, begun, end } = scripted({ atOnce: 1, maxWaiting: 100 });
    const all = ['a1', 'a2', 'a3', 'a4'].map((name) => run('a', name));
    all.push(run('b', 'b1'), run('b', 'b2'), run('c', 'c1'));
    await end('a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4');
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
    expect(await Promise.all(all)).toHaveLength(7);
  });

  it('runs a few pieces at once, and goes on after failures', async () => {
    const { run, begun, settle } = scripted({ atOnce: 2, maxWaiting: 100 });
    const queue = new FairQueue({ atOnce: 1, maxWaiting: 1 });
    await expect(queue.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await queue.run('a', async () => 'done')).toBe('done');
    for (const name of ['1', '2', '3']) void run('a', name);
    await settle();
    expect(begun).toEqual(['1', '2']);
  });

  it('refuses the newest work of the client that waits for the most', async () => {
    const { run, begun, end } = scripted({ atOnce: 1, maxWaiting: 3 });
    const first = run('a', 'a1');
    const waiting = ['a2', 'a3', 'a4'].map((name) => run('a', name));
    const refused = expect(waiting[2]).rejects.toMatchObject({ code: 'unavailable' });
    const other = run('b', 'b1');
    await refused;
    await end('a1', 'a2', 'b1', 'a3');
    expect(await Promise.all([first, waiting[0], waiting[1], other])).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(begun).not.toContain('a4');
  });
});
