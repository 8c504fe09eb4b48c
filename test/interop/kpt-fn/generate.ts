import type { Random } from '../../starlark/differential/random.js';

/**
 * Packages from a seed: subpackages, comments, styles, pipelines with selectors, and generators. No comments after the
 * content of a document, which kpt writes twice.
 */

export interface GeneratedPackage {
  /** By path, with `/`. */
  files: Record<string, string>;
}

const KINDS = [
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'StatefulSet'],
  ['v1', 'Service'],
  ['v1', 'ConfigMap'],
  ['example.com/v1', 'Custom'],
  ['rbac.authorization.k8s.io/v1', 'ClusterRole'],
  ['v1', 'Namespace'],
] as const;
const NAMES = ['app', 'db', 'cache', 'web', 'queue'];
const FOLDERS = ['db', 'apps', 'apps/inner', 'zeta'];
/** Scalars as people write them. */
const SCALARS = [
  'plain',
  "'quoted'",
  '"double"',
  '3',
  '"3"',
  '0x1F',
  '1.50',
  'true',
  '"true"',
  'yes',
  'null',
  '~',
  '""',
  "'it''s'",
  '2024-01-02',
  '1e3',
  '"a\\tb"',
  '"ünïcode ☃"',
  'ünïcode',
  '# not a value',
  '{a: 1, b: [x, y]}',
  '[1, "2", three]',
  '{}',
  '[]',
  '10.0.0.1:80',
  '"a: b"',
  '-1',
];
/** No folded ones: kpt writes them in quotes, and krmhub leaves those of resources that no function changed. */
const BLOCKS = ['|\n  line one\n    indented\n  # no comment\n', '|-\n  no newline\n', '|+\n  kept\n\n'];

export class PackageGenerator {
  readonly #random: Random;
  /** Starts a function by its name. */
  readonly #exec: (name: string) => string;
  #count = 0;

  constructor(random: Random, exec: (name: string) => string) {
    this.#random = random;
    this.#exec = exec;
  }

  /** A package with a Kptfile, and subpackages. */
  package(): GeneratedPackage {
    const files: Record<string, string> = {};
    const folders = ['', ...FOLDERS.filter(() => this.#chance(0.4))];
    for (const folder of folders) {
      const prefix = folder === '' ? '' : `${folder}/`;
      for (let at = this.#between(folder === '' ? 1 : 0, 2); at > 0; at--) {
        files[`${prefix}file-${at}.${this.#random.pick(['yaml', 'yaml', 'yml'])}`] = this.#file();
      }
      if (this.#chance(0.15)) files[`${prefix}README.md`] = '# Text\n';
      const isPackage = folder === '' || this.#chance(0.6);
      if (isPackage) this.#addKptfile(files, prefix, folder === '' ? 'root' : folder.replaceAll('/', '-'));
    }
    if (this.#chance(0.15)) files['.krmignore'] = this.#random.pick(['zeta\n', 'file-2.yaml\n', '*.yml\n']);
    // kpt runs the pipelines of packages that are ignored.
    if (files['.krmignore'] === 'zeta\n') delete files['zeta/Kptfile'];
    return { files };
  }

  /** Options of `fn eval` that select resources. */
  selection(): string[] {
    const options: string[] = [];
    for (const type of ['match', 'exclude']) {
      if (!this.#chance(0.5)) continue;
      const [apiVersion, kind] = this.#random.pick(KINDS);
      options.push(
        ...this.#random.pick([
          [`--${type}-kind`, kind],
          [`--${type}-api-version`, apiVersion],
          [`--${type}-name`, this.#name()],
          [`--${type}-namespace`, 'staging'],
          [`--${type}-labels`, 'tier=backend'],
          [`--${type}-annotations`, 'example.com/owner=team'],
          [`--${type}-kind`, kind, `--${type}-name`, this.#name()],
        ]),
      );
    }
    return options;
  }

  /** A function with its arguments for `fn eval`. */
  call(): { name: string; settings: Record<string, string> } {
    return this.#function(this.#chance(0.85));
  }

  #addKptfile(files: Record<string, string>, prefix: string, name: string): void {
    const lines = ['apiVersion: kpt.dev/v1', 'kind: Kptfile', 'metadata:', `  name: ${name}`];
    if (this.#chance(0.3)) lines.push('  annotations:', '    config.kubernetes.io/local-config: "true"');
    if (this.#chance(0.4)) lines.push('info:', '  description: of the test # a comment');
    const mutators = this.#pipeline('mutators');
    const validators = this.#chance(0.3) ? this.#pipeline('validators') : [];
    if (mutators.length + validators.length > 0) lines.push('pipeline:', ...mutators, ...validators);
    files[`${prefix}Kptfile`] = `${this.#header()}${lines.join('\n')}\n`;
  }

  #pipeline(field: 'mutators' | 'validators'): string[] {
    const indent = this.#random.pick(['  ', '    ']);
    const lines: string[] = [];
    for (let left = this.#between(0, 3); left > 0; left--) {
      const { name, settings } = this.#function(field === 'mutators');
      lines.push(`${indent}- exec: "${this.#exec(name)}"`);
      const entry = `${indent}  `;
      if (this.#chance(0.2)) lines.push(`${entry}name: step-${left}`);
      if (this.#chance(0.25)) lines.push(...this.#selectors(entry, 'selectors'));
      if (this.#chance(0.25)) lines.push(...this.#selectors(entry, 'exclude'));
      if (Object.keys(settings).length === 0) continue;
      const pairs = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
      // kpt before 1.0 passes the file of a configPath to its own step.
      lines.push(`${entry}configMap:`, ...pairs.map((pair) => `${entry}  ${pair}`));
    }
    return lines.length === 0 ? [] : [`  ${field}:`, ...lines];
  }

  /** Entries that cannot select an item twice, which kpt would pass twice. */
  #selectors(indent: string, field: 'selectors' | 'exclude'): string[] {
    const kinds = KINDS.filter(() => this.#chance(0.3)).map(([, kind]) => kind);
    const entries =
      kinds.length === 0
        ? this.#random.pick([
            [`name: ${this.#name()}`],
            ['labels:\n  tier: backend'],
            ['annotations:\n  example.com/owner: team'],
            ['namespace: staging'],
            ['apiVersion: apps/v1'],
          ])
        : kinds.map((kind) => `kind: ${kind}`);
    return [
      `${indent}${field}:`,
      ...entries.flatMap((entry) => {
        const [first, ...rest] = entry.split('\n');
        return [`${indent}  - ${first}`, ...rest.map((line) => `${indent}    ${line}`)];
      }),
    ];
  }

  #function(isMutator: boolean): { name: string; settings: Record<string, string> } {
    const [, kind] = this.#random.pick(KINDS);
    const mutators: [string, Record<string, string>][] = [
      ['identity', {}],
      ['rewrite', {}],
      ['set-namespace', { namespace: this.#random.pick(['staging', 'prod']) }],
      ['set-labels', { tier: 'backend', 'example.com/part': this.#random.pick(['a', '1', 'true']) }],
      ['set-annotations', { 'example.com/owner': 'team', note: this.#random.pick(['1', 'a: b', 'it']) }],
      ['json', {}],
      ['sort', {}],
      ['reverse', {}],
      ['remove', { kind }],
      [
        'move',
        { kind, path: this.#random.pick(['moved/N.yaml', 'moved-N.yaml', 'file-1.yaml']), index: '7' },
      ],
      ['move', { kind, path: 'legacy-N.yaml', annotation: 'legacy' }],
      ['forget-path', { kind }],
      ['forget-id', {}],
      [
        'generate',
        { name: `made-${++this.#count}`, data: this.#random.pick(['text', 'true', 'a: b', 'two\nlines\n']) },
      ],
      ['generate', { name: `made-${++this.#count}`, path: `made/by-${this.#count}.yaml` }],
      [
        'set-value',
        {
          kind,
          field: 'added',
          value: this.#random.pick([
            '"true"',
            'true',
            '"1"',
            '1.5',
            'null',
            '["a"]',
            '{"b": 1}',
            '"a\\nb"',
            '"# c"',
          ]),
        },
      ],
      ['replace', { from: 'replicas: 3', to: 'replicas: 4 # changed' }],
      ['report', { stderr: 'a note' }],
      ['bare', {}],
    ];
    const validators: [string, Record<string, string>][] = [
      ['identity', {}],
      ['rewrite', {}],
      ['set-labels', { tier: 'backend' }],
      ['report', {}],
      ['report', { exit: '1', stderr: 'refused' }],
      ['crash', {}],
    ];
    const all = isMutator ? (this.#chance(0.05) ? [...mutators, ...validators] : mutators) : validators;
    const [name, settings] = this.#random.pick(all);
    const fails = name === 'crash' || settings.exit !== undefined;
    if (fails && this.#chance(0.7)) return { name: 'identity', settings: {} };
    return { name, settings };
  }

  #file(): string {
    const documents = Array.from({ length: this.#between(1, 3) }, () => this.#resource());
    const start = this.#chance(0.15) ? '---\n' : '';
    return start + documents.join(this.#random.pick(['---\n', '---\n', '---\n---\n', '--- # mark\n']));
  }

  #resource(): string {
    const [apiVersion, kind] = this.#random.pick(KINDS);
    const indent = this.#random.pick(['', '  ']);
    const lines = [`apiVersion: ${apiVersion}`, `kind: ${kind}${this.#comment()}`];
    lines.push('metadata:', `  name: ${this.#name()}-${++this.#count}${this.#comment()}`);
    if (this.#chance(0.3)) lines.push(`  namespace: ${this.#random.pick(['staging', "'prod'"])}`);
    if (this.#chance(0.3)) lines.push('  labels:', `    tier: backend${this.#comment()}`);
    if (this.#chance(0.3)) lines.push('  annotations:', '    example.com/owner: "team"');
    if (kind === 'ConfigMap') lines.push('data:', `  key: ${this.#random.pick(['a', '"1"', "'x'"])}`);
    else if (kind !== 'Namespace') lines.push(...this.#spec(kind, indent));
    return `${this.#header()}${this.#chance(0.1) ? shuffleTop(lines) : lines.join('\n')}\n`;
  }

  #spec(kind: string, indent: string): string[] {
    const lines = [`spec:${this.#comment()}`];
    if (this.#chance(0.3)) lines.push('  # about the next field');
    if (kind === 'Deployment' || kind === 'StatefulSet') lines.push(`  replicas: 3${this.#comment()}`);
    // kpt moves a comment below an empty field into the next resource.
    else lines.push('  size: small');
    for (let left = this.#between(0, 4); left > 0; left--) {
      if (this.#chance(0.2)) lines.push('');
      const block = this.#chance(0.2)
        ? this.#random.pick(BLOCKS).trimEnd().replaceAll('\n', '\n  ')
        : undefined;
      const value = block ?? `${this.#random.pick(SCALARS)}${this.#comment()}`;
      lines.push(`  field${left}: ${value}`);
    }
    if (this.#chance(0.6)) {
      lines.push(`  list:${this.#comment()}`);
      for (let left = this.#between(1, 3); left > 0; left--) {
        if (this.#chance(0.2)) lines.push(`  ${indent}# about an element`);
        lines.push(
          `  ${indent}- name: item${left}${this.#comment()}`,
          `  ${indent}  value: ${this.#random.pick(SCALARS)}`,
        );
      }
    }
    return lines;
  }

  #comment(): string {
    return this.#chance(0.15) ? this.#random.pick([' # a comment', '   #tight', ' # kpt-set: a']) : '';
  }

  #header(): string {
    return this.#chance(0.3)
      ? this.#random.pick(['# Copyright\n', '# Copyright\n#\n# Licensed\n\n', '\n'])
      : '';
  }

  #chance(probability: number): boolean {
    return this.#random.below(1_000) < probability * 1_000;
  }

  /** A whole number, both ends included. */
  #between(low: number, high: number): number {
    return low + this.#random.below(high - low + 1);
  }

  #name(): string {
    return this.#random.pick(NAMES);
  }
}

/** Moves `kind` before `apiVersion`, as some people write. */
function shuffleTop([apiVersion, kind, ...rest]: readonly string[]): string {
  return [kind, apiVersion, ...rest].join('\n');
}
