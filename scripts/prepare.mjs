// Makes a checkout runnable: installs the locked dependencies if they are missing or differ, then builds
// the changes. `npm start`, `npm test` and `npm run demo` start with it. With `--no-check`, it does not check types, which
// is half of the time of the first build.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const stamp = path.join(root, 'node_modules/.cache/krmhub-installed');

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 17)) {
  console.error(`krmhub needs Node.js 20.17 or later; this is ${process.version}.`);
  process.exit(1);
}

// The compiled SQLite binding belongs to one Node version, so the version is part of the comparison.
const wanted = createHash('sha256')
  .update(readFileSync(path.join(root, 'package-lock.json')))
  .update(process.versions.modules)
  .digest('hex');
if (read(stamp) !== wanted) {
  if (!isInstalled()) {
    console.error('Installing dependencies …');
    run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  }
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}
console.error('Building …');
const compile = [path.join(root, 'node_modules/typescript/bin/tsc'), '-b'];
run(process.execPath, process.argv.includes('--no-check') ? [...compile, '--noCheck'] : compile);
run(process.execPath, [path.join(root, 'scripts/bundle.mjs')]);
// For action/krmhub.sh, which runs unchanged checkouts and does not check further.
writeFileSync(path.join(path.dirname(stamp), 'krmhub-built'), '');

/** Whether `npm ci` ran here before: what npm says it installed is what is locked, and the binding loads. */
function isInstalled() {
  const [locked, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    JSON.parse(read(path.join(root, file)) ?? '{"packages":{}}'),
  );
  const isSame = ([name, { integrity, optional }]) =>
    // npm leaves out what is for other platforms.
    installed.packages[name]?.integrity === integrity || (optional && installed.packages[name] === undefined);
  if (
    !Object.entries(locked.packages)
      .filter(([, { integrity }]) => integrity)
      .every(isSame)
  )
    return false;
  const load = ['-e', "new (require('better-sqlite3'))(':memory:')"];
  return spawnSync(process.execPath, load, { cwd: root, stdio: 'ignore' }).status === 0;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (error) console.error(`${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}
