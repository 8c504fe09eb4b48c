/** The commands that read a kpt package have to agree on which packages are in it. */
import path from 'node:path';
import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, describe, expect, it } from 'vitest';
import { runTest } from '../testing/command-line.js';
import { type TestPackage, testPackage } from '../testing/package-files.js';

let pack: TestPackage | undefined;
afterEach(() => pack?.remove());

/** Nothing runs, and no lock file is written. */
const kptfile = (name: string, isBreadthFirst = false) =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: ${name}, annotations: {kpt.dev/bfs-rendering: "${isBreadthFirst}"}}\npipeline:\n  mutators:\n  - {exec: nothing, when: 'false'}\n`;

const run = (...args: string[]) =>
  runTest(args, { cwd: pack!.folder, env: { KRMHUB_CACHE: path.join(pack!.folder, 'cache') } });

const sorted = (names: Iterable<string>) => [...names].sort();

async function packagesSeen() {
  const render = await run('fn', 'render', 'app', '--allow-package-exec', '--dry-run');
  const explain = await run('explain', 'app', '-o', 'json');
  const lock = await run('lock', 'app', '--check', '-o', 'json');
  const sync = await run('kpt', 'sync', 'app', '--check', '-o', 'json');
  const explained = JSON.parse(explain.out()).functions as { file: string }[];
  const synced = JSON.parse(sync.out()).packages as { file: string }[];
  return {
    render: [...render.err().matchAll(/^Package "(.*)": $/gm)].map(([, name]) => name!),
    explain: explained.map(({ file }) => path.dirname(file)),
    lock: JSON.parse(lock.out()).unlocked as number,
    sync: synced.map(({ file }) => path.join('app', path.dirname(file))),
  };
}

function randomTree(random: Random): Record<string, string> {
  const names = ['a', 'a-b', 'B', 'node_modules', '.git', 'c.yaml', 'ü'];
  const folders = new Set(['']);
  for (let count = 0; count < 8; count++) {
    folders.add(`${random.pick([...folders])}${random.pick(names)}/`);
  }
  const files: Record<string, string> = {
    'app/Kptfile': kptfile('app', random.chance(0.4)),
    'outside/Kptfile': kptfile('out'),
  };
  for (const folder of folders) {
    const at = `app/${folder}`;
    const up = '../'.repeat(folder.split('/').length - 1);
    const links = [`${up}Kptfile`, `${up}../outside/Kptfile`, 'nothing', '.'];
    if (folder !== '' && random.chance(0.6)) {
      files[`${at}Kptfile`] = random.chance(0.3)
        ? `→ ${random.pick(links)}`
        : kptfile('sub', random.chance(0.2));
    }
    if (random.chance(0.3)) {
      const rules = ['a', 'a/', '/a', '**/B/a', '*.yaml', 'a*', '!a-b', 'B/Kptfile', 'node_modules/*'];
      files[`${at}.krmignore`] = `${random.some(rules, 0.3).join('\n')}\n`;
    }
  }
  if (random.chance(0.3)) files['app/linked'] = `→ ${random.pick([...folders].map((one) => `./${one}`))}`;
  return files;
}

describe('the packages of a tree', () => {
  it.each(Array.from({ length: 25 }, (_, seed) => seed))(
    'are the same for render, explain, lock, and kpt sync (seed %i)',
    async (seed) => {
      pack = await testPackage(randomTree(new Random(seed)));
      const { render, explain, lock, sync } = await packagesSeen();
      expect(render).toContain('app');
      expect(explain).toEqual(render);
      expect(lock).toBe(render.length);
      // It reports a package before those below it.
      expect(sorted(sync)).toEqual(sorted(render));
    },
  );

  it('are those of files that .krmignore does not exclude', async () => {
    pack = await testPackage({
      'app/Kptfile': kptfile('app'),
      'app/.krmignore': 'skipped\nnamed/Kptfile\n',
      'app/skipped/Kptfile': kptfile('skipped'),
      // The rules of a package do not apply in those below it.
      'app/named/Kptfile': kptfile('named'),
      'app/without/Kptfile': kptfile('without'),
      'app/without/.krmignore': 'Kptfile\n',
    });
    expect(await packagesSeen()).toEqual({
      render: ['app/named', 'app'],
      explain: ['app/named', 'app'],
      lock: 2,
      sync: ['app', 'app/named'],
    });
  });

  it('do not have a Kptfile that leads out of them', async () => {
    pack = await testPackage({ 'app/Kptfile': '→ ../other', other: kptfile('other') });
    const { problems } = await pack.inspect('app', { type: 'kptfile' });
    expect(problems).toEqual([
      'config/not-found app/Kptfile:0:0 cannot read the Kptfile: it leads out of the package, or .krmignore excludes it',
    ]);
  });
});
