import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { lossesOverHttp } from '../faults/verify.js';
import { definition, GROUP, newLedger, publish, releasePath, type Sent } from '../faults/workload.js';
import { krmhubHere } from '../run-here.js';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const publishers = 4;

/** Publishes until it is stopped, and counts the acknowledged releases. */
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
        // Enough to be at work all the time; more releases would only take longer to check.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }),
  );
  return {
    acknowledged: () => [...ledger.sent].filter(([, { acknowledged }]) => acknowledged),
    stop: async () => {
      going = false;
      await done;
      expect(ledger.wrongResponses).toEqual([]);
    },
  };
}

it('a backup taken under load restores to an intact registry with every release acknowledged before', async () => {
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
    expect([code, stderr]).toEqual([0, expect.stringContaining('verified')]);
    // The load continued during the backup.
    expect(loaded.acknowledged().length).toBeGreaterThan(before.length);
    backups.push({ name, before });
  }
  const live = await krmhubHere(['fsck', '--data', registry.data]);
  expect([live.code, live.stdout]).toEqual([0, '']);
  await loaded.stop();
  const token = registry.token;
  expect(await registry.stop()).toBe(0);
  expect(readdirSync(folder).filter((name) => name.includes('unfinished'))).toEqual([]);

  for (const { name, before } of backups) {
    expect(before.length).toBeGreaterThanOrEqual(20);
    const data = path.join(folder, `restored-${name}`);
    const restored = await krmhubHere(['restore', path.join(folder, name), '--data', data]);
    expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('restored')]);
    const checked = await krmhubHere(['fsck', '--data', data, '-o', 'json']);
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
    expect((await krmhubHere(['fsck', '--data', data])).code).toBe(0);
  }
});

it('a backup older than a takedown reports it, and does not restore what the record lists', async () => {
  const registry = await startRegistry(path.join(folder, 'leaky'));
  const ledger = newLedger();
  const leak: Sent = {
    kind: 'Leaky',
    release: '1.0.0',
    body: definition('Leaky', '1.0.0'),
    readme: '# password\n',
    acknowledged: false,
    yanked: false,
  };
  expect(await publish(registry, ledger, leak, '?wait=true')).toBe(201);
  const backup = path.join(folder, 'before-takedown');
  expect((await krmhubHere(['backup', '--data', registry.data, '--out', backup])).code).toBe(0);
  const gone = await krmhubHere(['takedown', `${GROUP}/Leaky@1.0.0`, '--reason', 'leak', '--yes'], {
    env: registry.env,
  });
  expect([gone.code, gone.stderr]).toEqual([0, expect.any(String)]);
  const live = await krmhubHere(['fsck', '--data', registry.data]);
  expect([live.code, live.stdout]).toEqual([0, '']);
  expect(
    (await krmhubHere(['backup', '--data', registry.data, '--out', path.join(folder, 'after')])).code,
  ).toBe(0);
  expect(readdirSync(path.join(folder, 'after'))).toContain('takedowns.jsonl');
  await registry.stop();

  const data = path.join(folder, 'brought-back');
  const record = path.join(registry.data, 'takedowns.jsonl');
  const restored = await krmhubHere(['restore', backup, '--data', data, '--takedowns', record]);
  expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining('Leaky@1.0.0')]);
  const again = await startRegistry(data);
  try {
    expect((await fetch(`${again.url}${releasePath(leak)}/definition.yaml`)).status).toBe(410);
  } finally {
    await again.stop();
  }
  const checked = await krmhubHere(['fsck', '--data', data]);
  expect([checked.code, checked.stdout]).toEqual([0, '']);
  const blind = await krmhubHere(['restore', backup, '--data', path.join(folder, 'blind')]);
  expect([blind.code, blind.stderr]).toEqual([
    0,
    expect.stringContaining('has no record of later takedowns'),
  ]);
});
