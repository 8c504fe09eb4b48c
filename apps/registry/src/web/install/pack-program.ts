import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gzipSync } from 'fflate';
import { Header } from 'tar';
import { INSTALLED, PROGRAM_FOLDER, readManifest } from './program-folder.js';

/** Files that the documentation names. */
const SAMPLES = ['action', 'deploy', 'test/fixtures/catalogs', 'test/fixtures/functions'];
/** The places are those of the checkout, because the program finds files by them. */
const PARTS = [
  'LICENSE',
  'README.md',
  'apps/cli/dist/bundle',
  'apps/registry/assets',
  'docs',
  'examples',
  'migrations',
  ...SAMPLES,
];
const BUNDLE = 'apps/cli/dist/bundle/krmhub.js';
/** The commands of the package. Docker starts its credential helper by a name. */
const COMMANDS: Readonly<Record<string, string>> = {
  'bin/krmhub.js': "import '../apps/cli/dist/bundle/krmhub.js';\n",
  'bin/docker-credential-krmhub.js':
    "process.argv.splice(2, 0, 'docker-credential');\nawait import('../apps/cli/dist/bundle/krmhub.js');\n",
};
/** npm gives the files of a package the same time. */
const MTIME = new Date('1980-01-01T00:00:00Z');
const BLOCK_BYTES = 512;
const EXECUTABLE = 0o755;
const FILE = 0o644;

export type ProgramFiles = ReadonlyMap<string, Uint8Array>;

/**
 * Reads the files of the npm package, by their paths in it, from the checkout or the installation that runs. Undefined
 * if the program of a checkout is not bundled.
 */
export function readProgramFiles(root = PROGRAM_FOLDER): ProgramFiles | undefined {
  if (!existsSync(join(root, BUNDLE))) return undefined;
  const files = readParts(root, PARTS);
  const workspace = readManifest('package.json', root);
  if (workspace.name === INSTALLED) {
    for (const name of ['apps/cli/package.json', ...Object.keys(COMMANDS), 'package.json'])
      files.set(name, readFileSync(join(root, name)));
    return files;
  }
  const { name, version } = readManifest('apps/cli/package.json', root);
  const { 'better-sqlite3': sqlite, 'better-sqlite3-13': newer } = readManifest(
    'apps/registry/package.json',
    root,
  ).dependencies;
  files.set('apps/cli/package.json', json({ name, version, type: 'module' }));
  for (const [file, text] of Object.entries(COMMANDS))
    files.set(file, Buffer.from(`#!/usr/bin/env node\n${text}`));
  files.set(
    'package.json',
    json({
      name: INSTALLED,
      version,
      description: workspace.description,
      license: workspace.license,
      repository: workspace.repository,
      type: 'module',
      engines: workspace.engines,
      bin: Object.fromEntries(Object.keys(COMMANDS).map((file) => [posix.basename(file, '.js'), file])),
      // Only `krmhub serve` and the commands on its data folder need it, and it may have to be compiled.
      peerDependencies: { 'better-sqlite3': `${sqlite} || ${newer!.slice(newer!.lastIndexOf('@') + 1)}` },
      peerDependenciesMeta: { 'better-sqlite3': { optional: true } },
    }),
  );
  return files;
}

/** Reads the files that the documentation names, by their paths in a checkout. */
export function readSamples(): ProgramFiles {
  return readParts(PROGRAM_FOLDER, SAMPLES);
}

function readParts(root: string, parts: readonly string[]): Map<string, Uint8Array> {
  const names = parts.flatMap((part) => filesBelow(root, part)).sort();
  return new Map(names.map((name) => [name, readFileSync(join(root, name))]));
}

/**
 * Packs the files as npm does. The same files give the same bytes on every machine and Node.js, whose compressor does
 * not: so the digest of a package that a registry packs is the digest of the released one.
 */
export function packProgram(files: ProgramFiles, folder = 'package/'): Uint8Array {
  const blocks = [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, bytes]) => {
      const header = new Header({
        path: folder + name,
        mode: modeOf(name),
        size: bytes.byteLength,
        mtime: MTIME,
        type: 'File',
      });
      header.encode();
      return [header.block!, bytes, Buffer.alloc(-bytes.byteLength & (BLOCK_BYTES - 1))];
    });
  const archive = Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
  return gzipSync(archive, { level: 6, mtime: MTIME });
}

/** Returns the permissions of a file of the package. */
export function modeOf(name: string): number {
  return name.startsWith('bin/') || name.endsWith('.sh') ? EXECUTABLE : FILE;
}

/** Returns the paths of the files of a part: of `docs`, only its documents. */
function filesBelow(root: string, part: string): string[] {
  const folder = join(root, part);
  if (part === 'docs')
    return readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
  if (/^[A-Z]/.test(part)) return [part];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? filesBelow(root, `${part}/${entry.name}`)
      : entry.isFile()
        ? [`${part}/${entry.name}`]
        : [],
  );
}

function json(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
}
