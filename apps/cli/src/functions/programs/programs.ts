/**
 * The program of a new function, from `examples/functions/LANGUAGE` with other names.
 *
 * Each program reads a ResourceList from stdin, changes its items in place, and writes it to stdout. It uses one library
 * that reads YAML and keeps its comments, and no framework, so that little is needed to build it, and its code shows
 * everything that happens.
 *
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs';
import type { ExecPlatform, FunctionName, RuntimeKind } from '@krmhub/schema/definition';
import { shellWord } from '@krmhub/schema/text';
import { EXAMPLES_FOLDER } from '../../io/examples-folder.js';
import { releaseWorkflow } from './workflow.js';

export type Language = 'go' | 'typescript' | 'python';
export type Platform = Pick<ExecPlatform, 'os' | 'arch'>;

/** The runtimes of functions that are programs of their authors. */
const PROGRAM_RUNTIMES = ['container', 'exec'] as const;
type ProgramRuntime = (typeof PROGRAM_RUNTIMES)[number];

export function isProgram(runtime: RuntimeKind): runtime is ProgramRuntime {
  return (PROGRAM_RUNTIMES as readonly RuntimeKind[]).includes(runtime);
}

export interface NewFunction extends FunctionName {
  /** The kind as a file name, for example `set-owner`. */
  name: string;
  runtime: ProgramRuntime;
  /** Of an exec function: the platforms to build. */
  platforms: readonly Platform[];
}

export interface NewProgram {
  /** Text by path. */
  files: Record<string, string>;
  /** Commands that build it, with the folder quoted for a shell. */
  build: string[];
  /** The command line that runs it. */
  run: string;
}

/** How the programs of a language are built. Paths are those below their folder, for example `'my folder'/`. */
interface Toolchain {
  build(path: string, name: string): string[];
  run(path: string, name: string): string;
  /** Steps of a workflow. */
  setup: string;
  /** What git ignores. */
  ignored: string;
  /** What the image is built from. */
  context: string;
}

const TOOLCHAINS: Record<Language, Toolchain> = {
  go: {
    build: (path, name) => [`go build -C ${path.slice(0, -1)} -o build/${name} .`],
    run: (path, name) => `${path}build/${name}`,
    setup: `      - uses: actions/setup-go@v5
        with:
          go-version: stable
      - run: ./build.sh
`,
    ignored: 'build/\n',
    context: '!build\n!passwd\n',
  },
  typescript: {
    build: (path) => [`npm install --prefix ${path}`],
    run: (path) => `node ${path}main.ts`,
    setup: `      - uses: actions/setup-node@v4
        with:
          node-version: 24
      - run: npm ci
      - run: npm run check
`,
    ignored: 'node_modules/\n',
    context: '!main.ts\n!package*.json\n',
  },
  python: {
    build: (path) => [
      `python3 -m venv ${path}.venv`,
      `${path}.venv/bin/pip install -r ${path}requirements.txt`,
    ],
    run: (path) => `${path}.venv/bin/python ${path}main.py`,
    setup: `      - uses: actions/setup-python@v5
        with:
          python-version: '3.13'
`,
    ignored: '.venv/\n__pycache__/\n',
    context: '!main.py\n!requirements.txt\n',
  },
};

/** Files that only an image needs. */
const CONTAINER_FILES = ['Dockerfile', '.dockerignore', 'passwd'];

/** Returns the program of a new function in a folder, with everything that builds, tests, and releases it. */
export function newProgram(fn: NewFunction, language: Language, folder: string): NewProgram {
  const { build, run, setup, ignored, context } = TOOLCHAINS[language];
  const path = `${shellWord(folder)}/`;
  const files: Record<string, string> = {
    ...sourceFiles(fn, language),
    '.gitignore': ignored,
    '.dockerignore': `*\n${context}`,
    '.github/workflows/release.yml': releaseWorkflow(fn.runtime, {
      setup: [setup, ...build('./', fn.name).map((command) => `      - run: ${command}\n`)].join(''),
      run: run('./', fn.name),
    }),
  };
  if (fn.runtime === 'exec') for (const name of CONTAINER_FILES) delete files[name];
  return { files, build: build(path, fn.name), run: run(path, fn.name) };
}

function sourceFiles({ group, kind, name, runtime, platforms }: NewFunction, language: Language) {
  const names: Record<string, string> = { 'example.com': group, SetOwner: kind, 'set-owner': name };
  if (runtime === 'exec') {
    names['linux/amd64 linux/arm64'] = platforms.map(({ os, arch }) => `${os}/${arch}`).join(' ');
  }
  const folder = `${EXAMPLES_FOLDER}functions/${language}`;
  const pattern = new RegExp(Object.keys(names).join('|').replaceAll('.', '\\.'), 'g');
  return Object.fromEntries(
    readdirSync(folder).map((file) => [
      file,
      readFileSync(`${folder}/${file}`, 'utf8').replace(pattern, (found) => names[found]!),
    ]),
  );
}

/** Returns the name of the file that a user downloads for a platform. */
export function executableFile(name: string, { os, arch }: Platform): string {
  return `${name}_${os}_${arch}${os === 'windows' ? '.exe' : ''}`;
}
