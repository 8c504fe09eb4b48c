// Copies what a container image or a server needs to run krmhub, and nothing else: the built packages, their
// production dependencies as installed here, the migrations. Needs a built checkout (`npm run package` builds).
//
//   build/image/krmhub/node_modules   third-party packages, which seldom change
//   build/image/krmhub/program        krmhub; it runs in place
//   build/image/state/krmhub          an empty data folder, for the image
//
// The same checkout gives the same bytes, modes and times: layers of an image change only with their content.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [output = path.join(root, 'build/image'), ...rest] = process.argv.slice(2);
if (output.startsWith('-') || rest.length > 0) {
  console.error('usage: node scripts/package.mjs [FOLDER]\nFOLDER is replaced; the default is build/image.');
  process.exit(2);
}
const workspaces = [
  'packages/starlark',
  'packages/schema',
  'packages/catalog',
  'packages/api',
  'packages/oci',
  'packages/signing',
  'packages/functions',
  'packages/sources',
  'apps/registry',
  'apps/cli',
];
const unbuilt = workspaces.filter((name) => !existsSync(path.join(root, name, 'dist')));
if (unbuilt.length > 0) {
  console.error(`Not built yet: ${unbuilt.join(', ')}. Run \`npm run package\`, which builds first.`);
  process.exit(1);
}
const marker = 'state/krmhub';
if (existsSync(output) && readdirSync(output).length > 0 && !existsSync(path.join(output, marker))) {
  console.error(`${output} has other content. Name an empty folder, or one that this script made.`);
  process.exit(1);
}
const installed = path.join(output, 'krmhub');
const program = path.join(installed, 'program');
rmSync(output, { recursive: true, force: true });
mkdirSync(path.join(output, marker), { recursive: true });

for (const name of productionPackages()) copy(path.join(root, name), path.join(installed, name), isNeeded);
for (const name of workspaces) {
  const from = path.join(root, name);
  const to = path.join(program, name);
  copy(path.join(from, 'package.json'), path.join(to, 'package.json'));
  for (const folder of ['bin', 'assets']) {
    if (existsSync(path.join(from, folder))) copy(path.join(from, folder), path.join(to, folder));
  }
  copy(path.join(from, 'dist'), path.join(to, 'dist'), isProgram);
  if (existsSync(path.join(from, 'dist/bundle'))) {
    copy(path.join(from, 'dist/bundle'), path.join(to, 'dist/bundle'));
  }
  const link = path.join(
    installed,
    'node_modules',
    JSON.parse(readFileSync(path.join(from, 'package.json'))).name,
  );
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.relative(path.dirname(link), to), link);
}
copy(path.join(root, 'migrations'), path.join(program, 'migrations'));
for (const name of ['package.json', 'LICENSE']) copy(path.join(root, name), path.join(program, name));
mkdirSync(path.join(program, 'bin'));
symlinkSync('../apps/cli/bin/krmhub.js', path.join(program, 'bin/krmhub'));
settle(output);
chmodSync(path.join(output, marker), 0o700);

const command = path.join(program, 'bin/krmhub');
const version = execFileSync(process.execPath, [command, '--version'], { encoding: 'utf8' }).trim();
console.log(
  `krmhub ${version} in ${path.relative(process.cwd(), output) || '.'}: ${megabytes(program)} MB of its own, ` +
    `${megabytes(path.join(installed, 'node_modules'))} MB of dependencies`,
);

/** Folders below node_modules as npm resolved them, without workspaces and types. */
function productionPackages() {
  const listed = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  return [...new Set(listed.split('\n'))]
    .map((folder) => path.relative(realpathSync(root), folder).split(path.sep).join('/'))
    .filter((name) => /(^|\/)node_modules\//.test(name) && !/node_modules\/@(krmhub|types)\//.test(name))
    .filter((name) => !isDriverOfAnotherNode(name))
    .sort();
}

/**
 * better-sqlite3 13 has compiled bindings for every Linux and every Node from 22 on. The binding for Node
 * 20 was compiled here, so it is useful only if it was compiled on Linux with Node 20.
 */
function isDriverOfAnotherNode(name) {
  const here = Number(process.versions.node.split('.')[0]) < 22 && process.platform === 'linux';
  return name.endsWith('node_modules/better-sqlite3') && !here;
}

/** Files that a running dependency reads: no types, source maps, C sources, bindings of other systems. */
function isNeeded(name) {
  if (/\.(?:d\.[cm]?ts|ts|map|[ch]|gypi?)$/.test(name) || /(^|\/)node_modules(\/|$)/.test(name)) return false;
  if (/^(?:deps|src\/.*\.[ch]pp|prebuilds\/(?!linux).*)$/.test(name)) return false;
  return !/^build\/(?!Release(?:\/better_sqlite3\.node)?$)/.test(name);
}

/** Source files that still exist, without tests and their dependencies. */
function isProgram(name, from) {
  if (lstatSync(path.join(from, name)).isDirectory()) return path.basename(name) !== 'testing';
  if (!name.endsWith('.js') || name.endsWith('.test.js')) return false;
  return ['.ts', '.tsx'].some((suffix) =>
    existsSync(path.join(path.dirname(from), 'src', name.replace(/\.js$/, suffix))),
  );
}

function copy(from, to, wanted = () => true) {
  if (!statSync(from).isDirectory()) {
    mkdirSync(path.dirname(to), { recursive: true });
    copyFileSync(from, to);
    return;
  }
  const visit = (inner) => {
    for (const entry of readdirSync(path.join(from, inner), { withFileTypes: true })) {
      const name = inner === '' ? entry.name : `${inner}/${entry.name}`;
      if (!wanted(name, from)) continue;
      if (entry.isDirectory()) visit(name);
      else if (entry.isFile()) {
        mkdirSync(path.dirname(path.join(to, name)), { recursive: true });
        copyFileSync(path.join(from, name), path.join(to, name));
      }
    }
  };
  visit('');
}

/** Sets one time and two modes on all files, whatever the checkout's clock and umask were. */
function settle(folder) {
  const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? 315_532_800);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) settle(name);
    else if (entry.isFile()) chmodSync(name, name.includes('/bin/') ? 0o755 : 0o644);
    lutimesSync(name, seconds, seconds);
  }
  chmodSync(folder, 0o755);
}

function megabytes(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(path.join(entry.parentPath ?? entry.path, entry.name)).size;
  }
  return (bytes / 1e6).toFixed(1);
}
