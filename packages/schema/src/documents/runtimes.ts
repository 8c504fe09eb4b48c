/**
 * The runtimes of functions: the type of each in a definition, its JSON Schema, and its names. What is done with them is
 * in one table per layer, by `RuntimeKind`, so that the compiler names each place where a new runtime is missing.
 */

import type { JsonObject } from '@krmhub/yaml/json-value';
import { flag, object, text } from './schema-parts.js';

export const OPERATING_SYSTEMS = ['linux', 'darwin', 'windows'] as const;
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];
export type Architecture = (typeof ARCHITECTURES)[number];

/** What a definition has for each kind of runtime. */
export interface RuntimeValues {
  container: ContainerRuntime;
  exec: ExecRuntime;
  /** An https, git or oci reference to the script (KEP-2906, "Proposal"), with its digest: see `ScriptReference`. */
  starlark: string;
}

/** At least one of the runtimes is set. */
export type FunctionRuntime = Partial<RuntimeValues>;

export interface ContainerRuntime {
  image: string;
  /** Digest of the image: 64 lower-case hexadecimal digits, without `sha256:`. */
  sha256?: string;
  requireNetwork?: boolean;
  requireStorageMount?: boolean;
}

export interface ExecRuntime {
  platforms: ExecPlatform[];
}

export interface ExecPlatform {
  bin: string;
  os: OperatingSystem;
  arch: Architecture;
  /** An https, git or oci reference to the executable (KEP-2906, "Proposal"). */
  uri: string;
  /** Digest of the file at `uri`: 64 lower-case hexadecimal digits. Absent only if `uri` has an OCI digest. */
  sha256?: string;
}

/** In the order in which a runtime is chosen, and in which documents list them. */
export const RUNTIME_KINDS = ['container', 'exec', 'starlark'] as const;
export type RuntimeKind = (typeof RUNTIME_KINDS)[number];

export interface RuntimeDescription {
  /** In messages. */
  name: string;
  /** Heading on pages. */
  title: string;
  /** The topic of its section in the instructions of a function. */
  topic: string;
  /** What it runs, in messages. */
  noun: string;
  /** What it has access to: what the definition declares, everything that the user has, or its input only. */
  access: 'declared' | 'user' | 'input';
  /** JSON Schema of its value in a definition. */
  schema: JsonObject;
}

const SHA256 = '^[a-f0-9]{64}$';

const container = object('The function as a container image.', ['image'], {
  image: text('The image with its registry, such as `ghcr.io/acme/set-labels:v1.2.3`.'),
  sha256: text('The digest of the image: 64 lower-case hexadecimal digits.', { pattern: SHA256 }),
  requireNetwork: flag('The function requires network access.'),
  requireStorageMount: flag('The function requires mounted files from the host.'),
});

const platform: JsonObject = {
  ...object('The executable for one platform.', ['bin', 'os', 'arch', 'uri'], {
    bin: text('The path of the executable in the file at `uri`.'),
    os: text('The operating system.', { enum: [...OPERATING_SYSTEMS] }),
    arch: text('The processor architecture.', { enum: [...ARCHITECTURES] }),
    uri: text('The URI of the file to download: an https, git, or oci reference.', {
      pattern: '^(?:git::)?(?:https|oci|git|ssh|git\\+https|git\\+ssh)://',
    }),
    sha256: text('The digest of the file at `uri`: 64 lower-case hexadecimal digits.', { pattern: SHA256 }),
  }),
  anyOf: [
    { required: ['sha256'] },
    { properties: { uri: { type: 'string', pattern: '^oci://[^@]+@sha256:[a-f0-9]{64}$' } } },
  ],
};

export const RUNTIMES = {
  container: {
    name: 'container',
    title: 'Container',
    topic: 'container',
    noun: 'image',
    access: 'declared',
    schema: container,
  },
  exec: {
    name: 'exec',
    title: 'Executables',
    topic: 'executables',
    noun: 'executable',
    access: 'user',
    schema: object('The function as an executable on the host.', ['platforms'], {
      platforms: { type: 'array', minItems: 1, items: platform, description: 'One executable per platform.' },
    }),
  },
  starlark: {
    name: 'Starlark',
    title: 'Starlark script',
    topic: 'starlark',
    noun: 'script',
    access: 'input',
    schema: text('An https, git, or oci reference to a Starlark script.'),
  },
} as const satisfies Record<RuntimeKind, RuntimeDescription>;

/** Makes a record with a value for each kind of runtime. */
export function mapRuntimes<Value>(make: (kind: RuntimeKind) => Value): Record<RuntimeKind, Value> {
  return Object.fromEntries(RUNTIME_KINDS.map((kind) => [kind, make(kind)])) as Record<RuntimeKind, Value>;
}

/** Calls the case for the type of a value. There is one for each type of the union. */
export function byType<Union extends { type: string }, Result>(
  value: Union,
  cases: { [Type in Union['type']]: (value: Extract<Union, { type: Type }>) => Result },
): Result {
  return cases[value.type as Union['type']](value as Extract<Union, { type: Union['type'] }>);
}
