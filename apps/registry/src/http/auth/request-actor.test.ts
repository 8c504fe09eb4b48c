import { setImmediate, setTimeout } from 'node:timers/promises';
import { type Actor, ANONYMOUS } from '@krmhub/catalog';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { asActor, currentActor } from './request-actor.js';

const actor = (id: string): Actor => ({ ...ANONYMOUS, id });

it('is the actor of each request while requests begin, wait, nest, and end in any order', async () => {
  const random = new Random(20_301);
  const waits = [
    async () => undefined,
    () => setImmediate(),
    () => setTimeout(random.below(3)),
    () => new Promise<void>((resolve) => process.nextTick(resolve)),
  ];
  const wrong: string[] = [];
  const check = (expected: Actor) => {
    if (currentActor() !== expected) wrong.push(`${expected.id}: ${currentActor().id}`);
  };
  const request = async (at: number): Promise<void> => {
    const own = random.below(3) === 0 ? ANONYMOUS : actor(`request-${at}`);
    await asActor(own, async () => {
      for (let step = random.below(6); step >= 0; step -= 1) {
        check(own);
        await random.pick(waits)();
        check(own);
        if (random.below(4) > 0) continue;
        const other = random.below(2) === 0 ? ANONYMOUS : actor(`inside-${at}`);
        const inside = asActor(other, async () => {
          await random.pick(waits)();
          check(other);
          if (random.below(5) === 0) throw new Error('the request failed');
        });
        await inside.catch(() => undefined);
        check(own);
      }
    });
    check(ANONYMOUS);
  };
  const pending: Promise<void>[] = [];
  for (let at = 0; at < 2_000; at += 1) {
    pending.push(request(at));
    // Sometimes nothing runs, so that the storage is not used any more.
    if (random.below(50) === 0) await Promise.all(pending.splice(0));
    else if (random.below(3) === 0) await random.pick(waits)();
  }
  await Promise.all(pending);
  expect(wrong).toEqual([]);
});

it('is nobody once the request has ended', async () => {
  let late: Promise<Actor> | undefined;
  await asActor(actor('user'), async () => {
    late = setImmediate().then(() => currentActor());
  });
  expect(currentActor()).toBe(ANONYMOUS);
  await setTimeout(2);
  if (Number(process.versions.node.split('.')[0]) < 24) expect(await late).toBe(ANONYMOUS);
});
