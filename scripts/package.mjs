// Packs krmhub for users, from a built checkout (`npm run package` builds):
//
//   build/krmhub-VERSION.tgz          the package that `npm install --global` installs, without dependencies
//   build/image/krmhub/program        the same files for a container or a server; it runs in place
//   build/image/krmhub/node_modules   SQLite, which `krmhub serve` needs
//   build/image/state/krmhub          an empty data folder, for the image
//
// The same checkout gives the same bytes, modes and times: layers of an image change only with their content.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [output = path.join(root, 'build/image'), ...rest] = process.argv.slice(2);
if (output.startsWith('-') || rest.length > 0) {
  console.error('usage: node scripts/package.mjs [FOLDER]\nFOLDER is replaced; the default is build/image.');
  process.exit(2);
}
if (!existsSync(path.join(root, 'apps/cli/dist/bundle/krmhub.js'))) {
  console.error('krmhub is not built yet. Run `npm run package`, which builds first.');
  process.exit(1);
}
// What a registry packs of itself has the same bytes.
const { modeOf, packProgram, readProgramFiles } = await import(
  '../apps/registry/dist/web/install/pack-program.js'
);
const marker = 'state/krmhub';
if (existsSync(output) && readdirSync(output).length > 0 && !existsSync(path.join(output, marker))) {
  console.error(`${output} has other content. Name an empty folder, or one that this script made.`);
  process.exit(1);
}
const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? 315_532_800);
const cli = JSON.parse(readFileSync(path.join(root, 'apps/cli/package.json'), 'utf8'));
const installed = path.join(output, 'krmhub');
const program = path.join(installed, 'program');

rmSync(output, { recursive: true, force: true });
mkdirSync(path.join(output, marker), { recursive: true });
const files = readProgramFiles(root);
writeProgram(files);
const archive = path.join(path.dirname(output), `krmhub-${cli.version}.tgz`);
writeFileSync(archive, packProgram(files));
// The systemd unit and the image start this name.
symlinkSync('krmhub.js', path.join(program, 'bin/krmhub'));
for (const name of drivers()) copy(`node_modules/${name}`, path.join(installed, 'node_modules', name));
settle(output);
chmodSync(path.join(output, marker), 0o700);

const version = execFileSync(process.execPath, [path.join(program, 'bin/krmhub'), '--version'], {
  encoding: 'utf8',
}).trim();
const relative = (name) => path.relative(process.cwd(), name) || '.';
console.log(
  `krmhub ${version}\n` +
    `  ${relative(archive)}  ${megabytes(statSync(archive).size)} MB\n` +
    `  ${relative(output)}  ${megabytes(sizeOf(output))} MB with SQLite`,
);

function writeProgram(files) {
  for (const [name, bytes] of files) {
    const file = path.join(program, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  settle(program);
}

/**
 * The drivers of SQLite and what they load. better-sqlite3 13 has compiled bindings for every Linux and every Node from
 * 22 on. The binding for Node 20 was compiled here, so it is useful only if it was compiled on Linux with Node 20.
 */
function drivers() {
  const here = Number(process.versions.node.split('.')[0]) < 22 && process.platform === 'linux';
  const names = new Set();
  const add = (name) => {
    if (names.has(name)) return;
    names.add(name);
    const { dependencies = {} } = JSON.parse(
      readFileSync(path.join(root, 'node_modules', name, 'package.json'), 'utf8'),
    );
    // Only for compiling it.
    for (const dependency of Object.keys(dependencies))
      if (dependency !== 'prebuild-install') add(dependency);
  };
  for (const name of ['better-sqlite3', 'better-sqlite3-13'])
    if (name !== 'better-sqlite3' || here) add(name);
  return [...names].sort();
}

/** Files that a running program reads: no types, source maps, C sources, bindings of other systems. */
function isNeeded(name) {
  if (/\.(?:d\.[cm]?ts|ts|map|[ch]|gypi?)$/.test(name) || /(^|\/)node_modules(\/|$)/.test(name)) return false;
  if (/^(?:deps|src\/.*\.[ch]pp|prebuilds\/(?!linux).*)$/.test(name)) return false;
  return !/^build\/(?!Release(?:\/better_sqlite3\.node)?$)/.test(name);
}

function copy(name, to) {
  const from = path.join(root, name);
  cpSync(from, to, {
    recursive: true,
    dereference: true,
    filter: (file) => {
      const inner = path.relative(from, file).split(path.sep).join('/');
      return inner === '' || !name.startsWith('node_modules/') || isNeeded(inner);
    },
  });
}

/** Sets one time and two modes on all files, whatever the checkout's clock and umask were. */
function settle(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) settle(name);
    else if (entry.isFile()) chmodSync(name, modeOf(path.relative(program, name)));
    lutimesSync(name, seconds, seconds);
  }
  chmodSync(folder, 0o755);
}

function sizeOf(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(path.join(entry.parentPath ?? entry.path, entry.name)).size;
  }
  return bytes;
}

function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}
