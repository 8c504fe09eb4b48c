import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, parseDocument, stringify } from 'yaml';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, command, temporaryFolder } from '../running.js';
import { Random } from '../starlark/differential/random.js';
import { PackageGenerator } from './kpt-fn/generate.js';
import { makeFunctions } from './kpt-fn/oracle.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/**
 * Generated resources and functions through `kubectl kustomize` and through `krmhub fn`: both give the same resources.
 * Order and style are not compared: kustomize writes all resources in its own. `KRMHUB_TEST_SEED` generates others,
 * `KRMHUB_TEST_COUNT` sets how many.
 */

const why = missingReason('kubectl');
const seed = Number(process.env.KRMHUB_TEST_SEED ?? 1200);
const COUNT = Number(process.env.KRMHUB_TEST_COUNT ?? 8);
const seeds = Array.from({ length: COUNT }, (_, at) => seed + at);
/** The others are about files and text, which kustomize does not keep, or about output that it does not accept. */
const TRANSFORMERS = [
  'identity',
  'rewrite',
  'set-namespace',
  'set-labels',
  'set-annotations',
  'json',
  'sort',
  'reverse',
  'remove',
  'set-value',
  'report',
];
type Field = 'generators' | 'transformers' | 'validators';
interface Call {
  field: Field;
  name: string;
  settings: Readonly<Record<string, string>>;
}
type Resources = Record<string, unknown>;

const { folder, remove } = temporaryFolder();
let exec: (name: string) => string;

describe.skipIf(why !== undefined)(titleWithReason(`resources from seed ${seed}`, why), () => {
  beforeAll(async () => {
    exec = await makeFunctions(folder);
  });
  afterAll(remove);

  it.each(seeds)('are the same as from kubectl: %i', (one) => {
    const random = new Random(one + 4_000_000);
    const generator = new PackageGenerator(random, exec);
    const files = resourceFiles(generator.package().files);
    const calls = generatedCalls(random, generator);
    const place = path.join(folder, `kubectl-${one}`);
    const how = calls
      .map(({ field, name, settings }) => `${field}: ${name} ${JSON.stringify(settings)}`)
      .join('\n');
    expect(byKrmhub(path.join(place, 'krmhub'), files, calls), how).toEqual(
      byKubectl(path.join(place, 'kubectl'), files, calls),
    );
    rmSync(place, { recursive: true });
  });

  it.each([
    ['a validator that fails', { field: 'validators', name: 'report', settings: { exit: '1' } }],
    ['a function that crashes', { field: 'transformers', name: 'crash', settings: {} }],
  ] satisfies [string, Call][])('are not made after %s', (_, call) => {
    const files = { 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n' };
    const place = path.join(folder, call.name);
    expect(byKubectl(path.join(place, 'kubectl'), files, [call])).toBe('failed');
    expect(byKrmhub(path.join(place, 'krmhub'), files, [call])).toBe('failed');
  });

  /** What `kubectl kustomize` builds with the functions as plugins. */
  function byKubectl(place: string, files: Files, calls: readonly Call[]): Resources | 'failed' {
    const lists: Record<Field | 'resources', string[]> = {
      resources: Object.keys(files).map((name) => `resources/${name}`),
      generators: [],
      transformers: [],
      validators: [],
    };
    const written: Record<string, string> = {};
    for (const [name, text] of Object.entries(files)) written[`resources/${name}`] = text;
    // kubectl runs no programs, only containers, and starts them by this name.
    written['bin/docker'] = `#!/bin/sh\nfor image; do :; done\nexec ${exec('"$(basename "$image")"')}\n`;
    for (const [at, call] of calls.entries()) {
      written[`config-${at}.yaml`] = configOf(call, at, {
        'config.kubernetes.io/function': stringify({ container: { image: `example.com/${call.name}` } }),
      });
      lists[call.field].push(`config-${at}.yaml`);
    }
    written['kustomization.yaml'] = stringify(lists);
    write(place, written);
    const { status, stdout, stderr } = run(place, 'kubectl', ['kustomize', '--enable-alpha-plugins', place]);
    // The validators here change nothing, but kubectl also compares annotations that it adds itself.
    if (stderr.includes("validator shouldn't modify the resource map")) {
      const others = calls.filter(({ field }) => field !== 'validators');
      return byKubectl(place, files, others);
    }
    if (status !== 0) expect(stderr).toContain('exit status');
    return status === 0 ? byIdentity(parseAllDocuments(stdout).map((one) => one.toJS())) : 'failed';
  }

  /** What a pipe of `krmhub fn` gives. */
  function byKrmhub(place: string, files: Files, calls: readonly Call[]): Resources | 'failed' {
    write(path.join(place, 'package'), files);
    let { status, stdout } = run(place, process.execPath, [
      command,
      'fn',
      'source',
      path.join(place, 'package'),
    ]);
    for (const [at, call] of calls.entries()) {
      write(place, { [`config-${at}.yaml`]: configOf(call, at, {}) });
      const config = path.join(place, `config-${at}.yaml`);
      const args = ['fn', 'eval', '-', '--exec', exec(call.name), '--fn-config', config];
      ({ status, stdout } = run(place, process.execPath, [command, ...args], stdout));
      if (status === 1) return 'failed';
    }
    expect(status).toBe(0);
    return byIdentity(parseDocument(stdout).toJS().items);
  }
});

type Files = Readonly<Record<string, string>>;

/** The files of resources, in the order in which krmhub reads them. */
function resourceFiles(files: Files): Files {
  const names = Object.keys(files).filter((name) => /\.ya?ml$/.test(name));
  const key = (name: string) => name.split('/').join('\0');
  return Object.fromEntries(
    names.sort((a, b) => (key(a) < key(b) ? -1 : 1)).map((name) => [name, files[name]!]),
  );
}

/**
 * Sometimes a generator, one to three transformers, sometimes a validator: in the order in which kustomize runs them.
 */
function generatedCalls(random: Random, generator: PackageGenerator): Call[] {
  const calls: Call[] = [];
  if (random.below(2) === 0) {
    calls.push({ field: 'generators', name: 'generate', settings: { name: 'generated', data: 'a: b' } });
  }
  for (let left = 1 + random.below(3); left > 0; ) {
    const { name, settings } = generator.call();
    if (!TRANSFORMERS.includes(name) || settings.exit !== undefined) continue;
    calls.push({ field: 'transformers', name, settings });
    left--;
  }
  if (random.below(3) === 0) calls.push({ field: 'validators', name: 'report', settings: {} });
  return calls;
}

function configOf(
  { field, settings }: Call,
  at: number,
  annotations: Readonly<Record<string, string>>,
): string {
  const metadata = {
    name: `config-of-${at}`,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  // kustomize gives a generator its own configuration as an item, which later functions get too: it has a kind that
  // none changes.
  if (field === 'generators') {
    return stringify({ apiVersion: 'example.com/v1', kind: 'GeneratorConfig', metadata, ...settings });
  }
  return stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: settings });
}

function write(place: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(place, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: name.startsWith('bin/') ? 0o755 : 0o644 });
  }
}

function run(place: string, program: string, args: readonly string[], input = '') {
  return spawnSync(program, args, {
    cwd: place,
    env: cleanEnvironment(place, { PATH: `${place}/bin:${process.env.PATH}` }),
    input,
    encoding: 'utf8',
    maxBuffer: 64 * 1_024 * 1_024,
  });
}

/** Annotations with which programs and functions tell each other where a resource comes from. */
const PLACE = /^(?:internal\.config\.kubernetes\.io|config\.kubernetes\.io|config\.k8s\.io)\//;

interface Value {
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
}

function byIdentity(values: readonly Value[]): Resources {
  const resources: Resources = {};
  for (const value of values) {
    const { annotations = {}, ...metadata } = value.metadata;
    const others = Object.entries(annotations).filter(([key]) => !PLACE.test(key));
    const key = `${value.kind} ${metadata.namespace ?? ''}/${metadata.name}`;
    expect(resources[key]).toBeUndefined();
    resources[key] = {
      ...(withTimes(value) as Value),
      metadata: { ...metadata, ...(others.length === 0 ? {} : { annotations: Object.fromEntries(others) }) },
    };
  }
  return resources;
}

/** kustomize reads a date as a time. */
function withTimes(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^\d{4}-\d\d-\d\d$/, '$&T00:00:00Z');
  if (Array.isArray(value)) return value.map(withTimes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withTimes(inner)]));
}
