import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findCircles, forbiddenImports, importedFile, importsOf, roomOf } from './imports.js';
import { MAX_ROOT_FILES, ROOMS } from './rooms.js';

/**
 * The floors and rooms of ARCHITECTURE.md. npm hoists what a workspace does not declare, so nothing but this test
 * and the project references keep a package from importing one that it must not know.
 */
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** What a package stands on. */
interface Floor {
  /** Workspace packages that it may import. */
  below: string[];
  /** No I/O, clock, randomness or environment. */
  pure: boolean;
}

const floors: Record<string, Floor> = {
  'packages/schema': { below: [], pure: true },
  'packages/catalog': { below: ['@krmhub/schema'], pure: true },
  'packages/api': { below: ['@krmhub/schema'], pure: false },
  'packages/oci': { below: ['@krmhub/schema'], pure: false },
  'packages/signing': { below: ['@krmhub/schema'], pure: false },
  'packages/functions': { below: ['@krmhub/schema'], pure: false },
  'packages/sources': { below: ['@krmhub/schema', '@krmhub/catalog', '@krmhub/oci'], pure: false },
  'apps/registry': {
    below: [
      '@krmhub/schema',
      '@krmhub/catalog',
      '@krmhub/api',
      '@krmhub/oci',
      '@krmhub/signing',
      '@krmhub/sources',
    ],
    pure: false,
  },
  'apps/cli': {
    below: [
      '@krmhub/schema',
      '@krmhub/catalog',
      '@krmhub/api',
      '@krmhub/oci',
      '@krmhub/signing',
      '@krmhub/functions',
      '@krmhub/sources',
      '@krmhub/registry',
    ],
    pure: false,
  },
};

/** The one edge between apps: `krmhub serve` runs the registry, operators' commands work on its data folder. */
const registryImporters = [
  'back-up-registry',
  'check-data-folder',
  'data-folder',
  'registry-keys',
  'restore-registry',
  'serve-registry',
].map((name) => `apps/cli/src/operate/${name}.ts`);
/** What only tests use; held to the rules of tests. */
const testSupport = /\/testing\//;
/** Files that nothing imports: a thread that is started by its path, a generator, a table that queries name in SQL. */
const loadedOtherwise: Record<string, string[]> = {
  'apps/cli': ['functions/lint/thread'],
  'apps/registry': ['store/sqlite/schema/upstream-functions'],
  'packages/api': ['render-response-schemas'],
};
/** Hashing is pure; `node:module` is there to load a heavy library only when a document needs it. */
const pureBuiltins = ['node:crypto', 'node:module'];
/** The only files that touch the process: its arguments, environment, streams, signals and exit code. */
const processFiles = ['apps/cli/src/main.ts', 'apps/registry/src/main.ts'];
/** Asks which version of Node runs it, to load the driver that is made for it. */
const versionFiles = ['apps/registry/src/store/sqlite/driver.ts'];
/** Ends what it started, as a group, for which Node has nothing else. */
const groupFiles = ['packages/sources/src/git/run-git.ts', 'packages/functions/src/process/process-group.ts'];
/** Starts the Node that runs it once more, for what must not take this process down. */
const executableFiles = ['apps/registry/src/isolation/bounded-process.ts'];
const impure =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|fetch\(|process\.)/;
const forbiddenNames = /^(utils?|helpers?|common|managers?)\b/;
const maximumLines = 400;

interface SourceFile {
  file: string;
  /** Its package or app. */
  floor: string;
  text: string;
  imports: string[];
  test: boolean;
}

function sourceFiles(): SourceFile[] {
  return Object.keys(floors).flatMap((floor) =>
    readdirSync(path.join(root, floor, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => {
        const file = path.posix.join(floor, 'src', name.split(path.sep).join('/'));
        const text = readFileSync(path.join(root, file), 'utf8');
        return {
          file,
          floor,
          text,
          imports: importsOf(text),
          test: isTest(file),
        };
      }),
  );
}

const isTest = (file: string) => /\.test\.tsx?$/.test(file) || testSupport.test(file);

function localImports(file: string, imports: readonly string[]): string[] {
  return imports
    .filter((specifier) => specifier.startsWith('.'))
    .flatMap((specifier) => importedFile(file, specifier, names) ?? []);
}

/** Files of other packages, by the names under which these export every file. */
function workspaceImports(imports: readonly string[]): string[] {
  return imports.flatMap((specifier) => {
    const [, floor = '', name = 'index'] = /^@krmhub\/([^/]+)(?:\/(.*))?$/.exec(specifier) ?? [];
    return importedFile(`packages/${floor}/src/index.ts`, `./${name}.js`, names) ?? [];
  });
}

/** What Node or another package loads by a name of `package.json`, or by its path. */
function entryFiles(floor: string): string[] {
  const exported = JSON.stringify(manifest(floor).exports ?? {});
  const paths = [...exported.matchAll(/"\.\/dist\/([^"*]+)\.js"/g)].map((match) => match[1]!);
  return [...paths, 'main', ...(loadedOtherwise[floor] ?? [])].map((name) => `${floor}/src/${name}.ts`);
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!;
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier);
}

function manifest(floor: string): {
  exports?: unknown;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(path.join(root, floor, 'package.json'), 'utf8'));
}

/** Comments and strings may speak of what the code must not do. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''");
}

const files = sourceFiles();
const names = new Set(files.map(({ file }) => file));
const production = files.filter(({ test }) => !test);

describe('architecture', () => {
  it('reads the sources', () => {
    for (const floor of Object.keys(floors))
      expect(production.some((file) => file.floor === floor)).toBe(true);
  });

  it('stands on lower floors only', () => {
    const below = Object.fromEntries(Object.entries(floors).map(([name, { below }]) => [name, below]));
    const imports = files.flatMap(({ file, floor, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('@krmhub/'))
        .map((specifier) => ({ file, from: floor, to: packageOf(specifier) })),
    );
    expect(imports.length).toBeGreaterThan(0);
    expect(forbiddenImports(imports, below)).toEqual([]);
  });

  it.each(Object.entries(ROOMS))('keeps the rooms of %s apart', (floor, allowed) => {
    const own = production.filter((file) => file.floor === floor);
    const imports = own.flatMap(({ file, imports }) =>
      localImports(file, imports).map((target) => ({ file, from: roomOf(file), to: roomOf(target) })),
    );
    expect(imports.length).toBeGreaterThan(0);
    expect(forbiddenImports(imports, allowed)).toEqual([]);
    expect(findCircles(new Map(Object.entries(allowed)))).toEqual([]);
    expect(Object.keys(allowed).sort()).toEqual([...new Set(own.map(({ file }) => roomOf(file)))].sort());
  });

  it.each(Object.keys(ROOMS))('has few files beside the rooms of %s', (floor) => {
    const beside = production.filter(({ file }) => path.posix.dirname(file) === `${floor}/src`);
    expect(beside.map(({ file }) => file).slice(MAX_ROOT_FILES)).toEqual([]);
  });

  it.each(Object.keys(floors))('has no files in %s that import each other in a circle', (floor) => {
    const own = files.filter((file) => file.floor === floor);
    expect(findCircles(new Map(own.map(({ file, imports }) => [file, localImports(file, imports)])))).toEqual(
      [],
    );
  });

  it('enters other packages by their names, never by their folders', () => {
    const breaches = files.flatMap(({ file, floor, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .filter((specifier) => !path.posix.join(path.posix.dirname(file), specifier).startsWith(`${floor}/`))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('has one edge between the apps', () => {
    const importers = production.filter(
      ({ floor, imports }) =>
        floor === 'apps/cli' && imports.some((name) => packageOf(name) === '@krmhub/registry'),
    );
    expect(importers.map(({ file }) => file).sort()).toEqual(registryImporters);
  });

  it('keeps test support out of what is run', () => {
    const breaches = production.flatMap(({ file, imports }) =>
      imports
        .filter((specifier) => testSupport.test(`${specifier}/`))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('has what only tests use in folders of that name', () => {
    const used = new Set(
      production.flatMap(({ file, imports }) => [
        ...localImports(file, imports),
        ...workspaceImports(imports),
      ]),
    );
    const entries = Object.keys(floors).flatMap(entryFiles);
    const misplaced = production.filter(
      ({ file }) => !file.endsWith('.d.ts') && !entries.includes(file) && !used.has(file),
    );
    expect(misplaced.map(({ file }) => file)).toEqual([]);
  });

  it('declares what it imports', () => {
    const breaches = files.flatMap(({ file, floor, imports, test }) => {
      const { dependencies = {}, devDependencies = {} } = manifest(floor);
      const declared = test ? { ...dependencies, ...devDependencies, vitest: '' } : dependencies;
      return imports
        .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
        .filter((specifier) => !(packageOf(specifier) in declared))
        .map((specifier) => `${file} imports ${specifier}, which ${floor}/package.json does not name`);
    });
    expect(breaches).toEqual([]);
  });

  it('names in its project references what its package.json names', () => {
    for (const floor of Object.keys(floors)) {
      const config = JSON.parse(readFileSync(path.join(root, floor, 'tsconfig.json'), 'utf8'));
      const referenced = config.references.map(
        ({ path: folder }: { path: string }) => `@krmhub/${path.basename(folder)}`,
      );
      const declared = Object.keys(manifest(floor).dependencies ?? {}).filter((name) =>
        name.startsWith('@krmhub/'),
      );
      expect([floor, referenced.sort()]).toEqual([floor, declared.sort()]);
    }
  });

  it('keeps the lower packages pure', () => {
    const breaches = production
      .filter(({ floor }) => floors[floor]!.pure)
      .flatMap(({ file, text, imports }) => [
        ...imports
          .filter((specifier) => isBuiltin(specifier) && !pureBuiltins.includes(specifier))
          .map((specifier) => `${file} imports ${specifier}`),
        ...(impure.exec(codeOf(text)) ?? []).slice(0, 1).map((what) => `${file} uses ${what}`),
      ]);
    expect(breaches).toEqual([]);
  });

  it('parses URLs with parseUrl, because URL.canParse fails on Node.js 20', () => {
    // Formats of zod use it too.
    const call = /\bcanParse\b|\bz\.(url|httpUrl|ipv6|cidrv6)\b/;
    const breaches = files.filter(({ text }) => call.test(codeOf(text))).map(({ file }) => file);
    expect(breaches).toEqual([]);
  });

  it('touches the process in the entry points only', () => {
    const breaches = production
      .filter(
        ({ file, text, imports }) =>
          ![...processFiles, ...versionFiles, ...groupFiles, ...executableFiles].includes(file) &&
          (/\bprocess\./.test(codeOf(text)) || imports.includes('node:process')),
      )
      .map(({ file }) => file);
    expect(breaches).toEqual([]);
  });

  it('has files of one idea', () => {
    const breaches = production.flatMap(({ file, text }) => {
      const lines = text.split('\n').length;
      return [
        ...(lines > maximumLines ? [`${file} has ${lines} lines, more than ${maximumLines}`] : []),
        ...(forbiddenNames.test(path.posix.basename(file)) ? [`${file} says nothing by its name`] : []),
      ];
    });
    expect(breaches).toEqual([]);
  });
});
