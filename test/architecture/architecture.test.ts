import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { conditionalSpreads } from './conditional-spreads.js';
import { findCycles, forbiddenImports, importedFile, importsOf, moduleOf } from './imports.js';
import { MAX_ROOT_FILES, MODULES, STORE_BORDERS } from './modules.js';
import { filesOf } from './sources.js';

/**
 * Checks the packages and modules of ARCHITECTURE.md. npm hoists undeclared dependencies, so only this test and the
 * project references stop a package from importing one that it must not use.
 */
const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** The rules for one package or app. */
interface Workspace {
  /** The workspace packages that it may import. */
  below: string[];
  /** No I/O, clock, randomness or environment. */
  pure: boolean;
}

const workspaces: Record<string, Workspace> = {
  'packages/yaml': { below: [], pure: true },
  'packages/schema': { below: ['@krmhub/yaml'], pure: true },
  'packages/starlark': { below: ['@krmhub/schema'], pure: true },
  'packages/catalog': { below: ['@krmhub/schema', '@krmhub/yaml'], pure: true },
  'packages/api': { below: ['@krmhub/schema'], pure: false },
  'packages/oci': { below: ['@krmhub/schema'], pure: false },
  'packages/signing': { below: ['@krmhub/schema'], pure: false },
  'packages/functions': { below: ['@krmhub/schema', '@krmhub/yaml', '@krmhub/starlark'], pure: false },
  'packages/sources': { below: ['@krmhub/schema', '@krmhub/catalog', '@krmhub/oci'], pure: false },
  'packages/consume': {
    below: [
      '@krmhub/schema',
      '@krmhub/catalog',
      '@krmhub/api',
      '@krmhub/oci',
      '@krmhub/signing',
      '@krmhub/functions',
      '@krmhub/sources',
    ],
    pure: false,
  },
  // What runs in the browser of a visitor. Only its bundles are used.
  'apps/browser': { below: ['@krmhub/schema', '@krmhub/functions'], pure: false },
  'apps/registry': {
    below: [
      '@krmhub/yaml',
      '@krmhub/schema',
      '@krmhub/catalog',
      '@krmhub/api',
      '@krmhub/oci',
      '@krmhub/signing',
      '@krmhub/sources',
      '@krmhub/starlark',
    ],
    pure: false,
  },
  'apps/cli': {
    below: [
      '@krmhub/yaml',
      '@krmhub/schema',
      '@krmhub/catalog',
      '@krmhub/api',
      '@krmhub/oci',
      '@krmhub/signing',
      '@krmhub/functions',
      '@krmhub/starlark',
      '@krmhub/sources',
      '@krmhub/consume',
      '@krmhub/registry',
    ],
    pure: false,
  },
};

/** The only files of the CLI that import the registry: `krmhub serve` runs it, others work on its data folder. */
const registryImporters = [
  'back-up-registry',
  'check-data-folder',
  'data-folder',
  'migrate-registry',
  'move-registry',
  'registry-keys',
  'restore-registry',
  'serve-registry',
  'start-serving',
].map((name) => `apps/cli/src/operate/${name}.ts`);
/** Files that only tests use. The rules for tests apply to them. */
const testSupport = /\/testing\//;
/** Files that nothing imports: a thread started by its path, a generator, a table that queries name in SQL. */
const loadedOtherwise: Record<string, string[]> = {
  'apps/cli': ['functions/lint/thread', 'plugin', 'executable/main'],
  'apps/browser': [
    ...['page/main', 'run/worker', 'config/worker'],
    ...['buffer', 'os', 'path'].map((name) => `platform/${name}`),
  ],
  'apps/registry': ['store/records/schema/segments', 'store/records/schema/upstream-functions'],
  'packages/api': ['render-response-schemas'],
};
/** Hashing is pure; `node:module` loads a heavy library only when a document needs it. */
const pureBuiltins = ['node:crypto', 'node:module'];
/** The only files that use the process: its arguments, environment, streams, signals, and exit code. */
const processFiles = [
  'apps/cli/src/main.ts',
  'apps/cli/src/plugin.ts',
  'apps/cli/src/executable/main.ts',
  'apps/registry/src/main.ts',
];
/** Reads the Node.js version to load the matching driver. */
const versionFiles = [
  'apps/registry/src/store/sqlite/driver.ts',
  'apps/registry/src/server/process-metrics.ts',
];
/** Kills the process group that it started; Node.js has no other way. */
const groupFiles = [
  'packages/sources/src/git/run-git.ts',
  'packages/functions/src/process/process-group.ts',
  // Names this process in files, so that others know when it has ended.
  'packages/functions/src/process/process-identity.ts',
];
/** Start another Node.js process for work that must not crash this one, or run in it. */
const executableFiles = [
  'apps/registry/src/workers/isolation/bounded-process.ts',
  ...['script-process', 'starlark-process', 'starlark-watch'].map(
    (name) => `packages/functions/src/starlark/${name}.ts`,
  ),
  ...['write-guard', 'recover-process'].map((name) => `packages/functions/src/package-files/${name}.ts`),
  'apps/cli/src/kustomize/plugins/program.ts',
  // Offers the executable that runs.
  'apps/registry/src/web/install/executables.ts',
];
const impure =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|setTimeout|setInterval|fetch\(|process\.)/;
const forbiddenNames = /^(utils?|helpers?|common|managers?)\b/;
const maximumLines = 400;

interface SourceFile {
  file: string;
  /** Its package or app. */
  workspace: string;
  text: string;
  imports: string[];
  test: boolean;
}

function sourceFiles(): SourceFile[] {
  return Object.keys(workspaces).flatMap((workspace) =>
    filesOf(workspace).map((file) => {
      const text = readFileSync(path.join(root, file), 'utf8');
      return { file, workspace, text, imports: importsOf(text), test: isTest(file) };
    }),
  );
}

const isTest = (file: string) => /\.test\.tsx?$/.test(file) || testSupport.test(file);

function localImports(file: string, imports: readonly string[]): string[] {
  return imports
    .filter((specifier) => specifier.startsWith('.'))
    .flatMap((specifier) => importedFile(file, specifier, names) ?? []);
}

/** Returns the files of other packages that these specifiers name. */
function workspaceImports(imports: readonly string[]): string[] {
  return imports.flatMap((specifier) => {
    const [, workspace = '', name = 'index'] = /^@krmhub\/([^/]+)(?:\/(.*))?$/.exec(specifier) ?? [];
    return importedFile(`packages/${workspace}/src/index.ts`, `./${name}.js`, names) ?? [];
  });
}

/** Returns the files that Node.js or another package loads through `package.json` or by path. */
function entryFiles(workspace: string): string[] {
  const exported = JSON.stringify(manifest(workspace).exports ?? {});
  const paths = [...exported.matchAll(/"\.\/dist\/([^"*]+)\.js"/g)].map((match) => match[1]!);
  return [...paths, 'main', ...(loadedOtherwise[workspace] ?? [])].map(
    (name) => `${workspace}/src/${name}.ts`,
  );
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!;
}

function isBuiltin(specifier: string): boolean {
  return specifier.startsWith('node:') || builtinModules.includes(specifier);
}

function manifest(workspace: string): {
  exports?: unknown;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
} {
  return JSON.parse(readFileSync(path.join(root, workspace, 'package.json'), 'utf8'));
}

/** Removes comments and strings, which may mention forbidden names. */
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
  it('reads the sources of every package', () => {
    for (const workspace of Object.keys(workspaces))
      expect(production.some((file) => file.workspace === workspace)).toBe(true);
  });

  it('imports only lower packages', () => {
    const below = Object.fromEntries(Object.entries(workspaces).map(([name, { below }]) => [name, below]));
    const imports = files.flatMap(({ file, workspace, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('@krmhub/'))
        .map((specifier) => ({ file, from: workspace, to: packageOf(specifier) })),
    );
    expect(imports.length).toBeGreaterThan(0);
    expect(forbiddenImports(imports, below)).toEqual([]);
  });

  it.each(Object.entries(MODULES))(
    'allows only listed imports between the modules of %s',
    (workspace, allowed) => {
      const own = production.filter((file) => file.workspace === workspace);
      const imports = own.flatMap(({ file, imports }) =>
        localImports(file, imports).map((target) => ({ file, from: moduleOf(file), to: moduleOf(target) })),
      );
      expect(imports.length).toBeGreaterThan(0);
      expect(forbiddenImports(imports, allowed)).toEqual([]);
      expect(findCycles(new Map(Object.entries(allowed)))).toEqual([]);
      expect(Object.keys(allowed).sort()).toEqual([...new Set(own.map(({ file }) => moduleOf(file)))].sort());
    },
  );

  it.each(STORE_BORDERS)('keeps store/$from apart from other databases', ({ from, notTo }) => {
    const store = 'apps/registry/src/store';
    const own = production.filter(({ file }) => file.startsWith(`${store}/${from}/`));
    expect(own.length).toBeGreaterThan(0);
    const breaches = own.flatMap(({ file, imports }) =>
      localImports(file, imports)
        .filter((target) => notTo.some((folder) => target.startsWith(`${store}/${folder}/`)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(breaches).toEqual([]);
  });

  it.each(Object.keys(MODULES))('has few files directly in src of %s', (workspace) => {
    const beside = production.filter(({ file }) => path.posix.dirname(file) === `${workspace}/src`);
    expect(beside.map(({ file }) => file).slice(MAX_ROOT_FILES)).toEqual([]);
  });

  it.each(Object.keys(workspaces))('has no import cycles in %s', (workspace) => {
    const own = files.filter((file) => file.workspace === workspace);
    expect(findCycles(new Map(own.map(({ file, imports }) => [file, localImports(file, imports)])))).toEqual(
      [],
    );
  });

  it('imports other packages by name, never by path', () => {
    const breaches = files.flatMap(({ file, workspace, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .filter(
          (specifier) => !path.posix.join(path.posix.dirname(file), specifier).startsWith(`${workspace}/`),
        )
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('lets only the listed files of the CLI import the registry', () => {
    const importers = production.filter(
      ({ workspace, imports }) =>
        workspace === 'apps/cli' && imports.some((name) => packageOf(name) === '@krmhub/registry'),
    );
    expect(importers.map(({ file }) => file).sort()).toEqual(registryImporters);
  });

  it('does not import test support in production code', () => {
    const breaches = production.flatMap(({ file, imports }) =>
      imports
        .filter((specifier) => testSupport.test(`${specifier}/`))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(breaches).toEqual([]);
  });

  it('has code that only tests use in testing folders', () => {
    const used = new Set(
      production.flatMap(({ file, imports }) => [
        ...localImports(file, imports),
        ...workspaceImports(imports),
      ]),
    );
    const entries = Object.keys(workspaces).flatMap(entryFiles);
    const misplaced = production.filter(
      ({ file }) => !file.endsWith('.d.ts') && !entries.includes(file) && !used.has(file),
    );
    expect(misplaced.map(({ file }) => file)).toEqual([]);
  });

  it('declares every package that it imports', () => {
    const { devDependencies: oracles = {} } = manifest('.');
    const breaches = files.flatMap(({ file, workspace, imports, test }) => {
      const { dependencies = {}, devDependencies = {} } = manifest(workspace);
      const declared = test ? { ...dependencies, ...devDependencies, ...oracles } : dependencies;
      return imports
        .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
        .filter((specifier) => !(packageOf(specifier) in declared))
        .map((specifier) => `${file} imports ${specifier}, which ${workspace}/package.json does not declare`);
    });
    expect(breaches).toEqual([]);
  });

  it('has the same packages in project references and package.json', () => {
    for (const workspace of Object.keys(workspaces)) {
      const config = JSON.parse(readFileSync(path.join(root, workspace, 'tsconfig.json'), 'utf8'));
      const referenced = config.references.map(
        ({ path: folder }: { path: string }) => `@krmhub/${path.basename(folder)}`,
      );
      const declared = Object.keys(manifest(workspace).dependencies ?? {}).filter((name) =>
        name.startsWith('@krmhub/'),
      );
      expect([workspace, referenced.sort()]).toEqual([workspace, declared.sort()]);
    }
  });

  it('keeps the lower packages pure', () => {
    const breaches = production
      .filter(({ workspace }) => workspaces[workspace]!.pure)
      .flatMap(({ file, text, imports }) => [
        ...imports
          .filter((specifier) => isBuiltin(specifier) && !pureBuiltins.includes(specifier))
          .map((specifier) => `${file} imports ${specifier}`),
        ...(impure.exec(codeOf(text)) ?? []).slice(0, 1).map((what) => `${file} uses ${what}`),
      ]);
    expect(breaches).toEqual([]);
  });

  it('reaches the world from packages/consume only through ports', () => {
    const modules = /^node:(child_process|console|dgram|http|http2|https|net|process|readline|tls|tty)\b/;
    const globals = /\b(console\.|process\.|Date\.now|new Date\(\))/;
    const breaches = production
      .filter(({ workspace }) => workspace === 'packages/consume')
      .flatMap(({ file, text, imports }) => [
        ...imports.filter((name) => modules.test(name)).map((name) => `${file} imports ${name}`),
        ...(globals.exec(codeOf(text)) ?? []).slice(0, 1).map((what) => `${file} uses ${what}`),
      ]);
    expect(breaches).toEqual([]);
  });

  it('parses URLs with parseUrl, because URL.canParse fails on Node.js 20', () => {
    // Formats of zod use it too.
    const call = /\bcanParse\b|\bz\.(url|httpUrl|ipv6|cidrv6)\b/;
    const breaches = files.filter(({ text }) => call.test(codeOf(text))).map(({ file }) => file);
    expect(breaches).toEqual([]);
  });

  it('writes optional properties with defined', () => {
    const breaches = files
      .filter(({ file }) => !/\.test\.tsx?$/.test(file))
      .flatMap(({ file, text }) =>
        conditionalSpreads(text).map(({ line, spread }) => `${file}:${line}: ${spread}`),
      );
    expect(breaches).toEqual([]);
  });

  it('uses the process only in the entry points', () => {
    const breaches = production
      .filter(
        ({ file, text, imports }) =>
          ![...processFiles, ...versionFiles, ...groupFiles, ...executableFiles].includes(file) &&
          (/\bprocess\./.test(codeOf(text)) || imports.includes('node:process')),
      )
      .map(({ file }) => file);
    expect(breaches).toEqual([]);
  });

  it('starts the programs of tests so that they end', () => {
    // Of the imports at its top; a text may be a script.
    const starter =
      /^(?:import [^;]*;\n)*?import \{[^}]*\b(spawn|spawnSync|exec\w*Sync)\b[^}]*\} from 'node:child_process'/;
    const breaches = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.ts$/.test(name) && name !== 'processes.ts')
      .filter((name) => starter.test(readFileSync(path.join(root, 'test', name), 'utf8')))
      .map((name) => `test/${name} does not use test/processes.ts`);
    expect(breaches).toEqual([]);
  });

  it('has short files with specific names', () => {
    const breaches = production.flatMap(({ file, text }) => {
      const lines = text.split('\n').length;
      return [
        ...(lines > maximumLines ? [`${file} has ${lines} lines, more than ${maximumLines}`] : []),
        ...(forbiddenNames.test(path.posix.basename(file))
          ? [`${file} has a name that does not say what it does`]
          : []),
      ];
    });
    expect(breaches).toEqual([]);
  });
});
