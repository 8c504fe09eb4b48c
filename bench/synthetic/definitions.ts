import type { JsonObject } from '@krmhub/schema';
import { Random, Zipf } from './random.js';
import { functionConfigSchema, sentence } from './schema.js';
import { LICENSES, PROSE, QUALIFIERS, SUBJECTS, TAGS, VERBS } from './vocabulary.js';
import { toYaml } from './yaml-text.js';

/** Part of the name of filled registries: increment it with every change of the generated functions. */
export const GENERATOR_VERSION = 1;

export interface SyntheticRelease {
  group: string;
  kind: string;
  release: string;
  text: string;
  /** The function that the text defines. */
  definition: JsonObject;
  description: string;
  tags: string[];
}

export interface SyntheticOptions {
  /** Suffix of every kind; separates the functions of one source from those of another. */
  mark?: string;
  /** Parent domain of all groups. */
  domain?: string;
  /** Approximate YAML bytes of the schemas of one function: the minimum, and the range above it. */
  schemaBytes?: readonly [number, number];
}

interface Publisher {
  group: string;
  name: string;
}

const GROUPS = 1_000;
const HEADER = `# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
`;

/**
 * Releases of synthetic functions, the same ones for the same seed: definitions of 2 to 6 KB, most of them
 * nearer to 2, in about 1,000 groups, few of which have most functions. Every definition passes lint
 * without errors. A tenth of the functions have a second release.
 */
export class SyntheticFunctions {
  readonly #random: Random;
  readonly #groups: Zipf<Publisher>;
  readonly #taken = new Set<string>();
  readonly #mark: string;
  readonly #schemaBytes: readonly [number, number];

  constructor(seed: number, options: SyntheticOptions = {}) {
    const { mark = '', domain = 'example', schemaBytes = [650, 2_300] } = options;
    this.#random = new Random(seed);
    this.#groups = new Zipf(publishers(domain), 0.9);
    this.#mark = mark;
    this.#schemaBytes = schemaBytes;
  }

  /** Returns the releases of one function, the oldest first. */
  next(): SyntheticRelease[] {
    const random = this.#random;
    const { group, name: publisher } = this.#groups.pick(random);
    const kind = this.#freshKind(group);
    const slug = kind.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
    const description = sentence(random, random.between(6, 18)).slice(0, 195);
    const tags = [...new Set(Array.from({ length: random.between(1, 6) }, () => TAGS.pick(random)))];
    const spec: JsonObject = { group, names: { kind }, description, publisher };
    if (random.chance(0.7)) spec.home = `https://${group}/${slug}`;
    spec.maintainers = Array.from({ length: random.between(1, 3) }, () => `${PROSE.pick(random)}@${group}`);
    spec.tags = tags;
    const header = random.chance(0.4) ? HEADER : '';
    const first = [random.between(0, 4), random.between(0, 20), random.between(0, 9)];
    const releases = random.chance(0.1) ? [first, [first[0]!, first[1]! + 1, 0]] : [first];
    const [least, more] = this.#schemaBytes;
    const bytes = Math.round(least + more * random.next() ** 2);
    const apiVersions = ['v1', 'v1beta1', 'v1alpha1'].slice(0, pickCount(random));
    const schemas = apiVersions.map(() => functionConfigSchema(random, bytes / apiVersions.length));
    const license = LICENSES.pick(random);
    return releases.map((numbers) => {
      const release = numbers.join('.');
      const versions = apiVersions.map((name, at) => ({
        name,
        idempotent: random.chance(0.9),
        license,
        usage: `https://${group}/${slug}/v${release}/README.md`,
        examples: Array.from(
          { length: random.between(1, 3) },
          (_, example) => `https://${group}/${slug}/v${release}/examples/${name}-${example}/README.md`,
        ),
        runtime: runtime(random, group, slug, release),
        schema: { openAPIV3Schema: schemas[at]! },
      }));
      const definition = { ...spec, versions };
      const document = {
        apiVersion: 'config.kubernetes.io/v1alpha1',
        kind: 'KRMFunctionDefinition',
        spec: definition,
      };
      return { group, kind, release, text: header + toYaml(document), definition, description, tags };
    });
  }

  /** Kinds differ within their group by more than case; frequent kinds occur in many groups. */
  #freshKind(group: string): string {
    const random = this.#random;
    for (let attempt = 0; ; attempt++) {
      const qualifier = random.chance(attempt === 0 ? 0.4 : 1) ? QUALIFIERS.pick(random) : '';
      const second = attempt > 3 ? QUALIFIERS.pick(random) : '';
      const kind = `${VERBS.pick(random)}${qualifier}${second}${SUBJECTS.pick(random)}${this.#mark}`;
      const key = `${group}/${kind.toLowerCase()}`;
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      return kind;
    }
  }
}

/** Number of API versions: most functions have one. */
function pickCount(random: Random): number {
  const number = random.next();
  return number < 0.75 ? 1 : number < 0.95 ? 2 : 3;
}

function runtime(random: Random, group: string, slug: string, release: string): JsonObject {
  const kind = random.next();
  const container: JsonObject = { image: `registry.${group}/functions/${slug}:v${release}` };
  if (random.chance(0.9)) container.sha256 = random.hex(64);
  if (random.chance(0.1)) container.requireNetwork = true;
  if (random.chance(0.05)) container.requireStorageMount = true;
  const platforms = [
    ['linux', 'amd64'],
    ['linux', 'arm64'],
    ['darwin', 'arm64'],
    ['windows', 'amd64'],
  ] as const;
  const exec = () => ({
    platforms: platforms.slice(0, random.between(1, 3)).map(([os, arch]) => ({
      bin: os === 'windows' ? `${slug}.exe` : slug,
      os,
      arch,
      uri: `https://${group}/${slug}/v${release}/${slug}-${os}-${arch}.tar.gz`,
      sha256: random.hex(64),
    })),
  });
  if (kind < 0.75) return { container };
  return kind < 0.9 ? { exec: exec() } : { container, exec: exec() };
}

/** Every fifth publisher has two groups. */
function publishers(domain: string): Publisher[] {
  const random = new Random(11);
  const names = new Set<string>();
  while (names.size < GROUPS)
    names.add(`${PROSE.items[random.between(300, 9_000)]}${random.pick(['', '-labs', '-io'])}`);
  return [...names].map((name, at, all) => {
    const owner = at % 5 === 1 ? all[at - 1]! : name;
    return {
      group: `${at % 5 === 1 ? 'fn' : 'functions'}.${name}.${domain}`,
      name: `${owner[0]!.toUpperCase()}${owner.slice(1)} Inc.`,
    };
  });
}
