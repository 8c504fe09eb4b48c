import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/**
 * The floors of ARCHITECTURE.md. npm hoists what a workspace does not declare, so nothing but this test
 * and the project references keep a package from importing one that it must not know.
 */
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

interface Room {
  /** Workspace packages that it may import. */
  below: string[];
  /** No I/O, clock, randomness or environment. */
  pure: boolean;
}

const rooms: Record<string, Room> = {
  'packages/schema': { below: [], pure: true },
  'packages/catalog': { below: ['@krmhub/schema'], pure: true },
  'packages/api': { below: ['@krmhub/schema'], pure: false },
  'packages/oci': { below: ['@krmhub/schema'], pure: false },
  'packages/signing': { below: ['@krmhub/schema'], pure: false },
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
/** Starts real registries for the tests of commands; imported by tests only, and held to the rules of tests. */
const testSupport = ['apps/cli/src/testing/command-line.ts', 'apps/cli/src/testing/catalog-build.ts'];
/** Hashing is pure; `node:module` is there to load a heavy library only when a document needs it. */
const pureBuiltins = ['node:crypto', 'node:module'];
/** The only files that touch the process: its arguments, environment, streams, signals and exit code. */
const processFiles = ['apps/cli/src/main.ts', 'apps/registry/src/main.ts'];
/** Asks which version of Node runs it, to load the driver that is made for it. */
const versionFiles = ['apps/registry/src/store/sqlite/driver.ts'];
/** Ends what it started, as a group, for which Node has nothing else. */
const groupFiles = ['packages/sources/src/git/run-git.ts'];
/** Starts the Node that runs it once more, for what must not take this process down. */
const executableFiles = ['apps/registry/src/isolation/bounded-process.ts'];
const impure =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|fetch\(|process\.)/;
const forbiddenNames = /^(utils?|helpers?|common|managers?)\b/;
const maximumLines = 400;

interface SourceFile {
  file: string;
  room: string;
  text: string;
  imports: string[];
  test: boolean;
}

function sourceFiles(): SourceFile[] {
  return Object.keys(rooms).flatMap((room) =>
    readdirSync(path.join(root, room, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => {
        const file = path.posix.join(room, 'src', name.split(path.sep).join('/'));
        const text = readFileSync(path.join(root, file), 'utf8');
        return {
          file,
          room,
          text,
          imports: importsOf(text),
          test: /\.test\.tsx?$/.test(file) || testSupport.includes(file),
        };
      }),
  );
}

function importsOf(text: string): string[] {
  const statements =
    /(?:^|[;\n])\s*(?:import|export)\b[^'";]*?from\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(statements)].map((match) => match[1] ?? match[2]!);
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!;
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier);
}

function manifest(room: string): {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(path.join(root, room, 'package.json'), 'utf8'));
}

/** Comments and strings may speak of what the code must not do. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''");
}

const files = sourceFiles();
const production = files.filter(({ test }) => !test);

describe('architecture', () => {
  it('reads the sources', () => {
    for (const room of Object.keys(rooms)) expect(production.some((file) => file.room === room)).toBe(true);
    expect(
      importsOf("import a from 'a';\nexport * from './b.js';\nconst c = await import('c');\nimport 'd';"),
    ).toEqual(['a', './b.js', 'c', 'd']);
  });

  it('stands on lower floors only', () => {
    const breaches = files.flatMap(({ file, room, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('@krmhub/'))
        .filter((specifier) => !rooms[room]!.below.includes(packageOf(specifier)))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('enters other packages by their names, never by their folders', () => {
    const breaches = files.flatMap(({ file, room, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .filter((specifier) => !path.posix.join(path.posix.dirname(file), specifier).startsWith(`${room}/`))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('has one edge between the apps', () => {
    const importers = production.filter(
      ({ room, imports }) =>
        room === 'apps/cli' && imports.some((name) => packageOf(name) === '@krmhub/registry'),
    );
    expect(importers.map(({ file }) => file).sort()).toEqual(registryImporters);
  });

  it('keeps test support out of what is run', () => {
    for (const support of testSupport) {
      const { room } = files.find(({ file }) => file === support)!;
      const name = path.posix.relative(`${room}/src`, support).replace(/\.ts$/, '.js');
      const importers = production.filter((file) =>
        file.imports.some(
          (specifier) => path.posix.join(path.posix.dirname(file.file), specifier) === `${room}/src/${name}`,
        ),
      );
      expect(importers.map(({ file }) => file)).toEqual([]);
    }
  });

  it('declares what it imports', () => {
    const breaches = files.flatMap(({ file, room, imports, test }) => {
      const { dependencies = {}, devDependencies = {} } = manifest(room);
      const declared = test ? { ...dependencies, ...devDependencies, vitest: '' } : dependencies;
      return imports
        .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
        .filter((specifier) => !(packageOf(specifier) in declared))
        .map((specifier) => `${file} imports ${specifier}, which ${room}/package.json does not name`);
    });
    expect(breaches).toEqual([]);
  });

  it('names in its project references what its package.json names', () => {
    for (const room of Object.keys(rooms)) {
      const config = JSON.parse(readFileSync(path.join(root, room, 'tsconfig.json'), 'utf8'));
      const referenced = config.references.map(
        ({ path: folder }: { path: string }) => `@krmhub/${path.basename(folder)}`,
      );
      const declared = Object.keys(manifest(room).dependencies ?? {}).filter((name) =>
        name.startsWith('@krmhub/'),
      );
      expect([room, referenced.sort()]).toEqual([room, declared.sort()]);
    }
  });

  it('keeps the lower packages pure', () => {
    const breaches = production
      .filter(({ room }) => rooms[room]!.pure)
      .flatMap(({ file, text, imports }) => [
        ...imports
          .filter((specifier) => isBuiltin(specifier) && !pureBuiltins.includes(specifier))
          .map((specifier) => `${file} imports ${specifier}`),
        ...(impure.exec(codeOf(text)) ?? []).slice(0, 1).map((what) => `${file} uses ${what}`),
      ]);
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
