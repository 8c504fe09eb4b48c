import { lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DEPLOYMENT, type FnPackage, fnPackage, KPTFILE, SERVICE, script } from '../testing/fn-package.js';

let pack: FnPackage;
afterEach(() => pack.remove());

const SCALE = script('sed "s/replicas: 3/replicas: 5/"');
const TEMPLATE = DEPLOYMENT.replace('replicas: 3', 'replicas: {{replicas}}');

describe('a placeholder in a resource', () => {
  it.each([
    ['source'],
    ['eval', '--exec', './ran.sh'],
    ['render', '--allow-package-exec'],
    ['run', '--exec', './ran.sh'],
  ])('is refused by %s before a function runs', async (command, ...options) => {
    pack = await fnPackage({
      'ran.sh': script('echo > "$FN_FOLDER/ran"; cat'),
      'app/Kptfile': `${KPTFILE}pipeline:\n  mutators:\n  - exec: ./ran.sh\n`,
      'app/deployment.yaml': TEMPLATE,
    });
    const before = pack.all();
    const io = await pack.fn([command, 'app', ...options]);
    expect([io.exitCode, pack.exists('ran'), pack.all()]).toEqual([1, false, before]);
    expect(io.err()).toContain(
      'cannot read deployment.yaml:6:13: a key is a map or a list, expected a string\n  hint: Write a placeholder such as {{name}} in quotes.',
    );
  });

  it('is refused in the output of a function', async () => {
    pack = await fnPackage({
      'fn.sh': script('sed "s/replicas: 3/replicas: {{x}}/"'),
      'app/deployment.yaml': DEPLOYMENT,
    });
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh']);
    expect([io.exitCode, pack.read('app/deployment.yaml')]).toEqual([1, DEPLOYMENT]);
    expect(io.err()).toContain('cannot read the output: line 17: a key is a map or a list');
  });
});

describe('files that are not resources', () => {
  const FILES = {
    'scale.sh': SCALE,
    'app/Kptfile': `${KPTFILE}pipeline:\n  mutators:\n  - exec: ./scale.sh\n`,
    'app/deployment.yaml': DEPLOYMENT,
    'app/chart/template.yaml': TEMPLATE,
    'app/chart/values.yaml': 'replicas: 3\n',
    'app/sub/Kptfile': KPTFILE,
    'app/sub/list.yaml': '- a\n',
  };

  it('are all named at once: those that are not YAML, then those that are not resources', async () => {
    pack = await fnPackage({ ...FILES, 'app/other.yaml': 'a: [\n' });
    const before = pack.all();
    const unread = await pack.fn(['render', 'app', '--allow-package-exec']);
    expect(unread.err()).toContain(
      'cannot read 2 files:\n  cannot read chart/template.yaml:6:13: a key is a map or a list, expected a string\n  cannot read other.yaml:2:1: ',
    );
    writeFileSync(path.join(pack.folder, 'app/.krmignore'), 'template.yaml\nother.yaml\n');
    const io = await pack.fn(['render', 'app', '--allow-package-exec']);
    expect([unread.exitCode, io.exitCode]).toEqual([1, 1]);
    expect(io.err()).toContain(
      'input resource list must contain only KRM resources: sub/list.yaml: resource must have `apiVersion`\n  chart/values.yaml: resource must have `apiVersion`\n  hint: To leave files out, list them in .krmignore, or use --skip-unreadable.',
    );
    writeFileSync(path.join(pack.folder, 'app/.krmignore'), 'chart\nother.yaml\n');
    writeFileSync(path.join(pack.folder, 'app/sub/.krmignore'), 'list.yaml\n');
    expect((await pack.fn(['render', 'app', '--allow-package-exec'])).exitCode).toBe(0);
    expect(pack.all()).toMatchObject({
      ...before,
      Kptfile: expect.stringContaining('reason: RenderSuccess'),
      'deployment.yaml': DEPLOYMENT.replace('3', '5'),
      '.krmignore': 'chart\nother.yaml\n',
    });
  });

  it('are skipped with a warning for each, and stay as they are', async () => {
    pack = await fnPackage(FILES);
    const before = pack.all();
    for (const args of [
      ['render', 'app', '--allow-package-exec'],
      ['eval', 'app', '--exec', './scale.sh'],
      ['run', 'app', '--exec', './scale.sh'],
      ['source', 'app'],
    ]) {
      const io = await pack.fn([...args, '--skip-unreadable']);
      expect([io.exitCode, io.err()]).toEqual([
        0,
        expect.stringContaining(
          'warning: skipped chart/template.yaml:6:13: a key is a map or a list, expected a string\nwarning: skipped chart/values.yaml: resource must have `apiVersion`\nwarning: skipped sub/list.yaml: ',
        ),
      ]);
    }
    expect(pack.all()).toEqual({
      ...before,
      Kptfile: expect.stringContaining('reason: RenderSuccess'),
      'deployment.yaml': DEPLOYMENT.replace('3', '5'),
    });
  });

  it('are not overwritten by a function that adds a file of this name', async () => {
    pack = await fnPackage({
      'fn.sh': script("sed \"s|'deployment.yaml'|'values.yaml'|\""),
      'app/deployment.yaml': DEPLOYMENT,
      'app/values.yaml': 'replicas: 3\n',
    });
    const before = pack.all();
    const io = await pack.fn(['eval', 'app', '--exec', './fn.sh', '--skip-unreadable']);
    expect([io.exitCode, pack.all()]).toEqual([1, before]);
    expect(io.err()).toContain(
      'cannot create values.yaml: it already exists, and was not read as a resource',
    );
  });
});

describe('a symbolic link', () => {
  it('is read and written through if it leads to a file of the package, and named otherwise', async () => {
    pack = await fnPackage({
      'scale.sh': SCALE,
      'outside.yaml': DEPLOYMENT,
      'app/service.yaml': SERVICE,
      'app/shared/deployment.txt': DEPLOYMENT,
    });
    const at = (name: string) => path.join(pack.folder, 'app', name);
    symlinkSync('shared/deployment.txt', at('deployment.yaml'));
    symlinkSync('../outside.yaml', at('outside.yaml'));
    const warning = 'warning: skipped outside.yaml: it is a symbolic link to a file outside of the package\n';
    const source = await pack.fn(['source', 'app', '-o', 'unwrap']);
    expect([source.out(), source.err()]).toEqual([`${DEPLOYMENT}---\n${SERVICE}`, warning]);
    const dry = await pack.fn(['eval', 'app', '--exec', './scale.sh', '--dry-run']);
    expect(dry.out()).toContain(
      '--- a/shared/deployment.txt\n+++ b/shared/deployment.txt\n@@ -3,4 +3,4 @@\n',
    );
    const io = await pack.fn(['eval', 'app', '--exec', './scale.sh']);
    expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining(warning)]);
    expect(pack.read('app/shared/deployment.txt')).toBe(DEPLOYMENT.replace('3', '5'));
    expect(pack.read('outside.yaml')).toBe(DEPLOYMENT);
    expect(lstatSync(at('deployment.yaml')).isSymbolicLink()).toBe(true);
  });
});

describe('a write that a killed command left', () => {
  /** As a killed command leaves it: a new file was decided, and not created. */
  function interrupt(folder: string): void {
    const write = path.join(folder, '.krmhub-fn');
    mkdirSync(path.join(write, 'owner'), { recursive: true });
    const inode = lstatSync(write, { bigint: true }).ino;
    writeFileSync(path.join(write, 'owner', '1.1.1.4194305.1'), String(inode));
    writeFileSync(path.join(write, 'new.0'), SERVICE);
    const changes = [{ path: 'service.yaml', new: 'new.0', isCreated: true }];
    writeFileSync(path.join(write, 'journal'), JSON.stringify({ folders: [], changes }));
  }

  it.each([
    ['source', 'app'],
    ['eval', 'app', '--exec', 'cat', '--dry-run'],
    ['render', 'app', '--dry-run'],
    ['run', 'app'],
  ])('is completed by the next command, which says so: %s', async (...args) => {
    pack = await fnPackage({ 'app/Kptfile': KPTFILE, 'app/deployment.yaml': DEPLOYMENT });
    interrupt(path.join(pack.folder, 'app'));
    const warning = 'warning: completed the write of app that an earlier command did not finish\n';
    const io = await pack.fn(args);
    expect([io.exitCode, io.err().split(warning).length]).toEqual([0, 2]);
    expect(pack.all()).toEqual({
      Kptfile: KPTFILE,
      'deployment.yaml': DEPLOYMENT,
      'service.yaml': SERVICE,
    });
    expect((await pack.fn(args)).err()).not.toContain('warning');
  });
});
