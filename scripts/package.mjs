// Packs krmhub for users, from a built checkout (`npm run package` builds):
//
//   build/krmhub-VERSION.tgz          the package that `npm install --global` installs, without dependencies
//   build/image/krmhub/program        the same files for a container or a server; it runs in place
//   build/image/krmhub/node_modules   SQLite, which `krmhub serve` needs
//   build/image/state/krmhub          an empty data folder, for the image
//   build/executables                 with --executables: krmhub as one file for each system, which needs no Node.js,
//                                     and checksums.txt; with --key FILE also the signature of that
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
import { parseArgs } from 'node:util';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const USAGE = `usage: node scripts/package.mjs [FOLDER] [--executables [--system SYSTEM]... [--key FILE | --keyless]]
FOLDER is replaced; the default is build/image. Executables are beside it.`;
const { output, options } = readArguments();
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
const executables = path.join(path.dirname(output), 'executables');
if (options.executables) await writeExecutables();
const relative = (name) => path.relative(process.cwd(), name) || '.';
console.log(
  `krmhub ${version}\n` +
    `  ${relative(archive)}  ${megabytes(statSync(archive).size)} MB\n` +
    `  ${relative(output)}  ${megabytes(sizeOf(output))} MB with SQLite`,
);
if (options.executables) console.log(`  ${relative(executables)}  ${megabytes(sizeOf(executables))} MB`);

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        executables: { type: 'boolean' },
        system: { type: 'string', multiple: true },
        key: { type: 'string' },
        keyless: { type: 'boolean' },
      },
    });
    const { executables, ...ofExecutables } = values;
    if (positionals.length > 1) throw new Error('too many folders');
    if (!executables && Object.keys(ofExecutables).length > 0) throw new Error('use --executables');
    return { output: path.resolve(positionals[0] ?? path.join(root, 'build/image')), options: values };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    return process.exit(2);
  }
}

async function writeExecutables() {
  const { BUILDABLE, buildExecutables } = await import('./executables.mjs');
  const { system: systems = BUILDABLE, key, keyless } = options;
  const other = systems.filter((name) => !BUILDABLE.includes(name));
  if (other.length > 0) {
    console.error(`cannot build for ${other.join(', ')} here, only for ${BUILDABLE.join(', ')}`);
    process.exit(1);
  }
  await buildExecutables({ folder: executables, systems, installed, archive, version });
  const signer = key === undefined ? (keyless ? ['--keyless'] : undefined) : ['--key', path.resolve(key)];
  if (signer === undefined) return;
  const args = [path.join(program, 'bin/krmhub'), 'sign', 'checksums.txt', ...signer];
  execFileSync(process.execPath, args, { cwd: executables, stdio: ['inherit', 'ignore', 'inherit'] });
}

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
