import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setAnnotations, setLabels, setNamespace } from './metadata.js';
import {
  applyReplacements,
  dropComments,
  kubeval,
  named,
  noOp,
  printEnvironment,
  searchReplace,
  upsertResource,
} from './others.js';
import type { StandInFunction } from './resource-list.js';
import { starlark } from './starlark.js';

/**
 * A program in place of docker, podman, or nerdctl for the end-to-end cases of kpt: `run` starts a function of this
 * folder, chosen by the name of the image. Each case has its own store of images, which is empty at first; the registry
 * has the images below.
 */

const REGISTRY: Readonly<Record<string, StandInFunction>> = {
  'set-namespace': setNamespace,
  'set-labels': setLabels,
  'set-annotations': setAnnotations,
  'set-label': setLabels,
  'set-annotation': setAnnotations,
  starlark,
  'no-op': noOp,
  'drop-comments': dropComments,
  'search-replace': searchReplace,
  'upsert-resource': upsertResource,
  'apply-replacements': applyReplacements,
  kubeval,
  printenv: printEnvironment,
  foo: named('foo'),
  bar: named('bar'),
};

/** Options of `run` that have a value in the next argument. */
const WITH_VALUE = new Set([
  '-a',
  '--attach',
  '-e',
  '--env',
  '--log-driver',
  '--memory',
  '--mount',
  '--name',
  '--network',
  '--pids-limit',
  '--pull',
  '--security-opt',
  '--stop-timeout',
  '--tmpfs',
  '--ulimit',
  '-u',
  '--user',
  '-v',
  '--volume',
  '-w',
  '--workdir',
]);

const store = path.join(process.env.KPT_E2E_STORE ?? process.cwd(), 'images.json');

process.exitCode = main(process.argv.slice(2));

function main([command, ...args]: readonly string[]): number {
  switch (command) {
    case 'run':
      return runImage(args);
    case 'pull':
      return pull(args.at(-1)!) ?? 0;
    case 'tag':
      writeStore({ ...readStore(), [args[1]!]: readStore()[args[0]!] ?? args[0]! });
      return 0;
    case 'image':
      return imageCommand(args);
    case 'version':
    case 'info':
      process.stdout.write(args.includes('--format') ? '27.0.0\n' : 'Client:\n Version: 27.0.0\n');
      return 0;
    case 'rm':
    case 'kill':
      return 0;
    default:
      process.stderr.write(`docker: '${command}' is not a docker command.\n`);
      return 1;
  }
}

function imageCommand([command, ...args]: readonly string[]): number {
  const image = args.at(-1)!;
  const images = readStore();
  if (command === 'pull') return pull(image) ?? 0;
  if (images[image] === undefined) {
    process.stdout.write('[]\n');
    process.stderr.write(`Error: No such image: ${image}\n`);
    return 1;
  }
  if (command === 'rm') {
    delete images[image];
    writeStore(images);
  } else process.stdout.write(`${JSON.stringify([{ RepoTags: [image] }])}\n`);
  return 0;
}

function runImage(args: readonly string[]): number {
  let at = 0;
  let policy = 'missing';
  let network = 'bridge';
  const env: Record<string, string> = {};
  for (; args[at]?.startsWith('-'); at++) {
    const [name, ...rest] = args[at]!.split('=');
    const value = rest.length > 0 ? rest.join('=') : WITH_VALUE.has(name!) ? args[++at]! : '';
    if (name === '--pull') policy = value;
    if (name === '--network') network = value;
    if (name === '-e' || name === '--env') Object.assign(env, variable(value));
  }
  const image = args[at]!;
  if (policy === 'always' || readStore()[image] === undefined) {
    if (policy === 'never') {
      process.stderr.write(`docker: Error response from daemon: No such image: ${image}.\n`);
      return 125;
    }
    const failure = pull(image);
    if (failure !== undefined) return failure;
  }
  const { name, tag } = nameOf(readStore()[image]!);
  const text = readFileSync(0, 'utf8');
  const {
    stdout,
    stderr = '',
    exitCode = 0,
  } = REGISTRY[name]!({ text, tag, env, hasNetwork: network !== 'none' });
  process.stderr.write(stderr);
  process.stdout.write(stdout);
  return exitCode;
}

function variable(text: string): Record<string, string> {
  const [name, ...value] = text.split('=');
  if (value.length > 0) return { [name!]: value.join('=') };
  return process.env[name!] === undefined ? {} : { [name!]: process.env[name!]! };
}

/** Puts an image into the store; returns the exit code of docker if the registry does not have it. */
function pull(image: string): number | undefined {
  const { name, tag } = nameOf(image);
  if (REGISTRY[name] === undefined) {
    const repository = image.replace(/^[^/]*\//, '').replace(/:[^/]*$/, '');
    process.stderr.write(
      `docker: Error response from daemon: manifest for ${image.includes(':') ? image : `${image}:latest`} not found: manifest unknown: ` +
        `Failed to fetch "${tag}" from request "/v2/${repository}/manifests/${tag}".\n`,
    );
    return 125;
  }
  writeStore({ ...readStore(), [image]: image });
  return undefined;
}

function nameOf(image: string): { name: string; tag: string } {
  const [base, tag] = image.replace(/@.*$/, '').split('/').at(-1)!.split(':');
  return { name: base!, tag: tag ?? 'latest' };
}

/** Images of the store by name, each with the image that it was pulled as. */
function readStore(): Record<string, string> {
  return existsSync(store) ? JSON.parse(readFileSync(store, 'utf8')) : {};
}

function writeStore(images: Record<string, string>): void {
  mkdirSync(path.dirname(store), { recursive: true });
  writeFileSync(store, JSON.stringify(images));
}
