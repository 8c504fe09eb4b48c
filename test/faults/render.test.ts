import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { recoverPackage } from '@krmhub/functions/fn';
import { folderContent } from '@krmhub/functions/testing/package-folder';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { cleanEnvironment, command, type Finished, root, temporaryFolder } from '../running.js';
import { seed } from '../seed.js';
import { Random } from '../starlark/differential/random.js';
import { canMount } from './disk.js';

/** Faults of the built `krmhub fn render`: the files of the package are all as they were, or all new. */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const KILLS = 200;
/** Of the kills, each so many is followed by a second render, and the others by what every command does first. */
const RENDERED_AGAIN = 5;
const FILES = 40;
const NOBODY = 65_534;
const minutes = 60_000;

const KPTFILE = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - exec: ${folder}/set.sh
    - exec: ${folder}/more.sh
`;
const FUNCTIONS = {
  // Every resource changes, and the second function adds one in a new folder; a second run changes nothing.
  'set.sh': "exec sed 's|value: old|value: new|'\n",
  'more.sh': `text=$(cat)
case $text in *'name: added'*) printf '%s\\n' "$text"; exit ;; esac
printf '%s\\n' "$text" | sed 's|^items:$|items:\\
- apiVersion: v1\\
  kind: ConfigMap\\
  metadata:\\
    name: added\\
    annotations: {internal.config.kubernetes.io/path: more/added.yaml}|'
`,
  'endless.sh': "printf 'items:\\n- a: \"'\nexec yes\n",
  'large.sh': `cat >/dev/null
printf 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems:\\n'
printf -- '- apiVersion: v1\\n  kind: ConfigMap\\n  metadata:\\n    name: large\\n  data:\\n    value: "'
head -c 104857600 /dev/zero | tr '\\0' x
printf '"\\n'
`,
  'edit.sh': '[ "$EDITED" = "" ] || printf "# edited\\n" >>"$EDITED"\nexec cat\n',
  'wait.sh': ': >"$WAITS"\nwhile [ -e "$WAITS" ]; do sleep 0.05; done\nexec cat\n',
};

const before = path.join(folder, 'before');
const temporary = path.join(folder, 'tmp');
const home = path.join(folder, 'home');
let old: Record<string, string>;
let rendered: Record<string, string>;
let milliseconds: number;
let count = 0;

beforeAll(async () => {
  for (const place of [temporary, home]) mkdirSync(place, { mode: 0o777 });
  for (const [name, text] of Object.entries(FUNCTIONS)) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${text}`, { mode: 0o755 });
  }
  mkdirSync(path.join(before, 'inner'), { recursive: true });
  writeFileSync(path.join(before, 'Kptfile'), KPTFILE);
  for (let at = 0; at < FILES; at++) {
    const file = path.join(before, at % 3 === 0 ? '' : 'inner', `${at}.yaml`);
    writeFileSync(file, `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c${at}\ndata:\n  value: old\n`);
  }
  chmodSync(folder, 0o755);
  old = folderContent(before);
  const copy = copied();
  const start = performance.now();
  const finished = await render(copy);
  milliseconds = performance.now() - start;
  expect(finished.code, finished.stderr).toBe(0);
  rendered = folderContent(copy);
  expect(Object.keys(rendered)).toHaveLength(FILES + 2);
  expect(Object.values(rendered).filter((text) => text.includes('value: new'))).toHaveLength(FILES);
});

function copied({
  parent = folder,
  functions,
}: {
  parent?: string;
  functions?: readonly string[];
} = {}): string {
  const copy = path.join(parent, `package-${count++}`);
  cpSync(before, copy, { recursive: true, preserveTimestamps: true });
  if (functions !== undefined) {
    const entries = functions.map((name) => `    - exec: ${path.join(folder, name)}\n`).join('');
    writeFileSync(path.join(copy, 'Kptfile'), KPTFILE.replace(/ {4}- exec: [\s\S]*/, entries));
  }
  return copy;
}

function start(
  copy: string,
  env: Record<string, string> = {},
  wrapper: readonly string[] = [],
): ChildProcess {
  const [program, ...args] = [
    ...wrapper,
    process.execPath,
    command,
    'fn',
    'render',
    copy,
    '--allow-package-exec',
  ];
  return spawn(program!, args, {
    cwd: root,
    env: cleanEnvironment(home, { TMPDIR: temporary, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function finish(child: ChildProcess): Promise<Finished> {
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...printed };
}

const render = (copy: string, env?: Record<string, string>, wrapper?: readonly string[]) =>
  finish(start(copy, env, wrapper));

const sorted = (content: Record<string, string>) =>
  JSON.stringify(Object.entries(content).sort(([one], [other]) => (one < other ? -1 : 1)));

function state(copy: string): 'old' | 'new' | 'other' {
  const content = sorted(folderContent(copy));
  if (content === sorted(old)) return 'old';
  return content === sorted(rendered) ? 'new' : 'other';
}

/** Processes that have the package, or a function, as an argument. */
function processes(copy: string): string {
  return spawnSync('pgrep', ['-fa', `${copy}|${folder}/[a-z]+[.]sh`], { encoding: 'utf8' }).stdout;
}

it(
  `that is killed at ${KILLS} random instants changes all files or none, seed ${seed}`,
  async () => {
    const random = new Random(seed);
    const counts = { old: 0, new: 0, other: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      const copy = copied();
      const child = start(copy);
      const closed = finish(child);
      const instant = random.below(Math.ceil(milliseconds * 1.1));
      await new Promise((resolve) => setTimeout(resolve, instant));
      child.kill('SIGKILL');
      await closed;
      const where = `kill ${kill} of seed ${seed}, after ${instant} ms`;
      if (kill % RENDERED_AGAIN === 0) {
        const again = await render(copy);
        expect(again.code, `${where}: ${again.stderr}`).toBe(0);
        expect(state(copy), where).toBe('new');
      } else {
        await recoverPackage(copy);
        const found = state(copy);
        expect(found, where).not.toBe('other');
        counts[found]++;
      }
      const settled = state(copy);
      await expect.poll(() => processes(copy), { message: where }).toBe('');
      expect(state(copy), where).toBe(settled);
      expect(readdirSync(temporary), where).toEqual([]);
      rmSync(copy, { recursive: true });
    }
    expect(counts.old).toBeGreaterThan(0);
    expect(counts.new).toBeGreaterThan(0);
  },
  40 * minutes,
);

describe('writes nothing', () => {
  it.each([
    ['inner/1.yaml', 'was changed'],
    ['0.yaml', 'was changed'],
  ])('if a function edits %s itself', async (name, problem) => {
    const copy = copied({ functions: ['set.sh', 'edit.sh'] });
    const own = folderContent(copy);
    const { code, stderr } = await render(copy, { EDITED: path.join(copy, name) });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(`${name} ${problem}`)]);
    // What the function did is there, and nothing else.
    expect(folderContent(copy)).toEqual({ ...own, [name]: `${own[name]}# edited\n` });
  });

  it('if a function adds a file of resources itself', async () => {
    const copy = copied({ functions: ['set.sh', 'edit.sh'] });
    const own = folderContent(copy);
    const { code, stderr } = await render(copy, { EDITED: path.join(copy, 'new.yaml') });
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining('new.yaml was added')]);
    expect(folderContent(copy)).toEqual({ ...own, 'new.yaml': '# edited\n' });
  });

  it.each([
    ['changed', (copy: string) => writeFileSync(path.join(copy, '3.yaml'), 'a: b\n'), { '3.yaml': 'a: b\n' }],
    ['removed', (copy: string) => rmSync(path.join(copy, 'inner/1.yaml')), { 'inner/1.yaml': undefined }],
    [
      'added',
      (copy: string) => writeFileSync(path.join(copy, 'inner/new.yaml'), 'a: b\n'),
      { 'inner/new.yaml': 'a: b\n' },
    ],
  ])('if a file is %s while the functions run', async (what, edit, difference) => {
    const copy = copied({ functions: ['set.sh', 'wait.sh'] });
    const own: Record<string, string | undefined> = folderContent(copy);
    const waits = `${copy}.waits`;
    const child = start(copy, { WAITS: waits });
    const finished = finish(child);
    await expect.poll(() => existsSync(waits)).toBe(true);
    edit(copy);
    rmSync(waits);
    const { code, stderr } = await finished;
    const [name] = Object.keys(difference);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(`${name} was ${what}`)]);
    const expected: Record<string, string | undefined> = { ...own, ...difference };
    if (what === 'removed') delete expected[name!];
    expect(folderContent(copy)).toEqual(expected);
  });

  it('if a function writes without an end', async () => {
    const copy = copied({ functions: ['set.sh', 'endless.sh'] });
    const own = folderContent(copy);
    const { code, stderr } = await render(copy);
    expect([code, stderr]).toEqual([1, expect.stringContaining('wrote more than 134217728 bytes')]);
    // As in kpt, the Kptfile says that a function failed.
    expect(folderContent(copy)).toEqual({
      ...own,
      Kptfile: expect.stringContaining('reason: RenderFailed'),
    });
    await expect.poll(() => processes(copy)).toBe('');
  });

  it('if a function writes a file of 100 MB, which no later run could read', async () => {
    const copy = copied({ functions: ['large.sh'] });
    const own = folderContent(copy);
    const { code, stderr } = await render(copy);
    expect([code, stderr]).toEqual([1, expect.stringContaining('more than 67108864 bytes')]);
    expect(folderContent(copy)).toEqual(own);
  });
});

const isRoot = process.getuid?.() === 0;
const hasSetpriv = spawnSync('setpriv', ['--version']).status === 0;
const cannotSwitch = isRoot && !hasSetpriv ? 'setpriv is not installed' : undefined;

describe.skipIf(cannotSwitch !== undefined)(cannotSwitch ?? 'of files that the user cannot write', () => {
  const user = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] : [];

  it.each([
    ['a file', 'inner/1.yaml', 0o444],
    ['a folder', 'inner', 0o555],
    ['the package', '', 0o555],
  ])('writes nothing if %s is read-only', async (_, name, mode) => {
    const copy = copied();
    const own = folderContent(copy);
    if (isRoot) {
      for (const at of ['', ...readdirSync(copy, { recursive: true, encoding: 'utf8' })]) {
        chownSync(path.join(copy, at), NOBODY, NOBODY);
      }
    }
    chmodSync(path.join(copy, name), mode);
    const { code, stderr } = await render(copy, {}, user);
    expect([code, stderr]).toEqual([5, expect.stringContaining('permission denied')]);
    expect(folderContent(copy)).toEqual(own);
    chmodSync(path.join(copy, name), 0o755);
    expect(await render(copy, {}, user)).toMatchObject({ code: 0 });
    expect(state(copy)).toBe('new');
  });
});

const mounts = canMount(folder);

describe.skipIf(!mounts)(mounts ? 'on a full disk' : 'a disk of a given size cannot be mounted', () => {
  const disk = path.join(folder, 'disk');
  beforeAll(() => {
    mkdirSync(disk);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status).toBe(0);
  });
  afterAll(() => void spawnSync('umount', ['--lazy', disk]));

  it('changes all files or none, and says that the disk is full', async () => {
    const results = new Set<string>();
    for (let pages = 0; pages <= FILES + 8; pages += 8) {
      const copy = copied({ parent: disk });
      const ballast = path.join(disk, 'ballast');
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(ballast, Buffer.alloc(Math.max(bavail * bsize - pages * 4_096, 0), 1));
      const { code, stderr } = await render(copy);
      rmSync(ballast);
      results.add(code === 0 ? 'written' : 'full');
      if (code !== 0) expect([code, stderr]).toEqual([5, expect.stringContaining('the disk is full')]);
      expect(state(copy)).toBe(code === 0 ? 'new' : 'old');
      rmSync(copy, { recursive: true });
    }
    expect([...results].sort()).toEqual(['full', 'written']);
  });
});
