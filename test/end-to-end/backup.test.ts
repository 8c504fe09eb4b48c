import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { lossesOverHttp } from '../faults/verify.js';
import { definition, newLedger, publish, type Sent } from '../faults/workload.js';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const publishers = 4;

/** Publishes until told otherwise, and counts what was acknowledged. */
function load(registry: RunningRegistry) {
  const ledger = newLedger();
  let going = true;
  const done = Promise.all(
    Array.from({ length: publishers }, async (_, publisher) => {
      for (let minor = 0; going; minor++) {
        const sent: Sent = {
          kind: `Loaded${publisher}`,
          release: `1.${minor}.0`,
          body: definition(`Loaded${publisher}`, `1.${minor}.0`),
          readme: `# Release ${minor} of publisher ${publisher}\n`,
          acknowledged: false,
          yanked: false,
        };
        await publish(registry, ledger, sent, '');
      }
    }),
  );
  return {
    acknowledged: () => [...ledger.sent].filter(([, { acknowledged }]) => acknowledged),
    stop: async () => {
      going = false;
      await done;
      expect(ledger.wrongAnswers).toEqual([]);
    },
  };
}

it('a backup taken under load restores to a registry that is whole, with all that was acknowledged before', async () => {
  const registry = await startRegistry(path.join(folder, 'data'));
  const loaded = load(registry);
  const backups: { name: string; before: [string, Sent][] }[] = [];
  while (loaded.acknowledged().length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
  for (const name of ['first', 'second']) {
    const before = loaded.acknowledged();
    const { code, stderr } = await krmhub([
      'backup',
      '--data',
      registry.data,
      '--out',
      path.join(folder, name),
    ]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('whole')]);
    // The load went on all the while.
    expect(loaded.acknowledged().length).toBeGreaterThan(before.length);
    backups.push({ name, before });
  }
  const live = await krmhub(['fsck', '--data', registry.data]);
  expect([live.code, live.stdout]).toEqual([0, '']);
  await loaded.stop();
  const token = registry.token;
  expect(await registry.stop()).toBe(0);
  expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);

  for (const { name, before } of backups) {
    expect(before.length).toBeGreaterThanOrEqual(20);
    const data = path.join(folder, `restored-${name}`);
    const restored = await krmhub(['restore', path.join(folder, name), '--data', data]);
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('Restored')]);
    const checked = await krmhub(['fsck', '--data', data, '-o', 'json']);
    expect([checked.code, JSON.parse(checked.stdout)]).toEqual([
      0,
      expect.objectContaining({ whole: true, findings: [] }),
    ]);
    expect(existsSync(path.join(data, 'forms'))).toBe(false);
    const again = await startRegistry(data);
    try {
      expect(again.token).toBe(token);
      const ledger = newLedger();
      for (const [release, sent] of before) ledger.sent.set(release, sent);
      expect(await lossesOverHttp(again, ledger)).toEqual([]);
    } finally {
      await again.stop();
    }
    expect((await krmhub(['fsck', '--data', data])).code).toBe(0);
  }
}, 120_000);
