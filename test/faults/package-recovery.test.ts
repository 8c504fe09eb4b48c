import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { temporaryFolder } from '../running.js';
import { seed } from '../seed.js';
import { Random } from '../starlark/differential/random.js';
import { callsOf, EDIT, EditedPackage, RECOVER, runWithFault, watchers } from './edited-package.js';
import { canTrace } from './strace.js';

/**
 * Writes of a package of which calls fail, and recoveries that are killed too, by several processes at once.
 * `KRMHUB_TEST_SEED` chooses other instants, `KRMHUB_TEST_COUNT` how many there are.
 */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const COUNT = Number(process.env.KRMHUB_TEST_COUNT ?? 4);
/** Calls that may fail; after a failure, some succeed again and some never do. */
const WRITE_CALLS = ['openat', 'write', 'rename', 'link', 'unlink', 'mkdir', 'fsync', 'chmod'];
const RECOVERY_CALLS = ['rename', 'link', 'unlink', 'mkdir', 'fsync', 'openat', 'rmdir'];
const traces = canTrace();
const random = new Random(seed);

let edited: EditedPackage;
const totals = new Map<string, number>();
beforeAll(() => {
  edited = new EditedPackage(folder);
  if (traces) for (const call of WRITE_CALLS) totals.set(call, callsOf(EDIT, edited.copy(), call));
});

/** One of the last calls, since the first ones are those of Node.js. */
const instant = (call: string) => {
  const total = totals.get(call)!;
  return Math.max(1, total - random.below(call === 'openat' ? Math.ceil(total / 2) : total));
};

/** The package is whole, and nothing is left in it. */
async function expectWhole(copy: string, how: string): Promise<string> {
  await expect.poll(() => watchers(copy), { message: how }).toBe('');
  expect(await run(RECOVER, copy), how).toBe('recovered\n');
  const found = edited.state(copy);
  expect(found, how).not.toBe('other');
  rmSync(copy, { recursive: true });
  return found;
}

async function run(script: string, copy: string): Promise<string> {
  const child = spawn(process.execPath, [script, copy], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await once(child, 'close');
  return printed;
}

const skipReason = traces ? undefined : 'strace is not installed';

describe.skipIf(!traces)(skipReason ?? `a write from seed ${seed}`, () => {
  it.each(WRITE_CALLS)('changes all files or none if %s fails', async (call) => {
    for (let point = 0; point < COUNT; point++) {
      const error = random.pick(['EIO', 'ENOSPC']);
      const when = `${instant(call)}${random.pick(['', '+'])}`;
      const copy = edited.copy();
      const said = runWithFault(EDIT, copy, call, `error=${error}:when=${when}`);
      const how = `${error} of ${call} ${when}`;
      const isWritten = said.endsWith('written\n');
      // Node.js itself ends if it cannot start, or print.
      if (!isWritten && said.includes('failed'))
        expect(said, how).toMatch(/failed: (?:unavailable|storage-full): /);
      const found = await expectWhole(copy, how);
      // Whether a write has to be undone is decided by a rename too: if none succeeds any more, it is completed.
      const cannotUndo = call === 'rename' && when.endsWith('+');
      if (said.includes('writing\n') && call !== 'write' && (isWritten || !cannotUndo))
        expect(found, how).toBe(isWritten ? 'new' : 'old');
    }
  });
});

describe.skipIf(!traces)(skipReason ?? `a recovery from seed ${seed}`, () => {
  it.each(RECOVERY_CALLS)('that is killed at %s is done by the next one', async (call) => {
    for (let point = 0; point < COUNT; point++) {
      const copy = edited.copy();
      const kill = instant('rename');
      // Killed with its guard, of which the parent is gone.
      runWithFault(EDIT, copy, 'rename', `signal=KILL:when=${kill}`);
      const guards = watchers(copy).trim().split('\n');
      if (guards[0] !== '') spawnSync('kill', ['-KILL', ...guards]);
      const when = 1 + random.below(call === 'openat' ? 60 : 30);
      runWithFault(RECOVER, copy, call, `signal=KILL:when=${when}`);
      await expectWhole(copy, `rename ${kill}, then ${call} ${when}`);
    }
  });

  it.each(['none', 'one', 'all'])(
    'by three processes and a guard, of which %s are killed',
    async (killed) => {
      for (let point = 0; point < COUNT; point++) {
        const copy = edited.copy();
        const call = random.pick(WRITE_CALLS);
        const kill = instant(call);
        runWithFault(EDIT, copy, call, `signal=KILL:when=${kill}`);
        const scripts = [RECOVER, RECOVER, random.pick([RECOVER, EDIT])];
        const children = scripts.map((script) =>
          spawn(process.execPath, [script, copy], { stdio: ['ignore', 'pipe', 'inherit'] }),
        );
        const printed = children.map(() => '');
        const ends = children.map(async (child, at) => {
          child.stdout.setEncoding('utf8').on('data', (text: string) => {
            printed[at] += text;
          });
          await once(child, 'close');
        });
        const victims = children.slice(0, killed === 'none' ? 0 : killed === 'one' ? 1 : 3);
        for (const victim of victims) {
          setTimeout(() => victim.kill('SIGKILL'), random.below(edited.milliseconds));
        }
        await Promise.all(ends);
        const how = `${call} ${kill}: ${printed.join('; ')}`;
        for (const [at, text] of printed.entries()) {
          if (at >= victims.length) expect(text, how).toMatch(/^(?:recovered|writing\nwritten)\n$/);
        }
        await expectWhole(copy, how);
      }
    },
  );
});
