import type { HostileCase } from './hostile-case.js';

/** A definition without errors, as JSON values that a case then breaks. */
export const GROUP = 'hostile.example.com';

export type Fields = Record<string, unknown>;

export interface Parts {
  kind?: string;
  /** Fields of `spec` that replace or extend the usual ones. */
  spec?: Fields;
  /** Fields of the only API version. */
  version?: Fields;
  /** Replaces `openAPIV3Schema`. */
  schema?: unknown;
}

export const PLAIN_SCHEMA: Fields = {
  type: 'object',
  description: 'How it is configured.',
  properties: { text: { type: 'string', description: 'Any text.' } },
};

export function apiVersion(name: string, fields: Fields = {}): Fields {
  return {
    name,
    idempotent: true,
    license: 'Apache-2.0',
    usage: 'https://hostile.example.com/README.md',
    examples: ['https://hostile.example.com/example.yaml'],
    runtime: { container: { image: 'registry.example.com/hostile:v1.0.0', sha256: 'a'.repeat(64) } },
    schema: { openAPIV3Schema: PLAIN_SCHEMA },
    ...fields,
  };
}

export function definition(parts: Parts = {}): Fields {
  const schema = parts.schema === undefined ? {} : { schema: { openAPIV3Schema: parts.schema } };
  return {
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind: 'KRMFunctionDefinition',
    spec: {
      group: GROUP,
      names: { kind: parts.kind ?? 'Hostile' },
      description: 'Sent by an attacker.',
      publisher: 'Example Co',
      home: 'https://hostile.example.com',
      maintainers: ['team@example.com'],
      tags: ['mutator'],
      versions: [apiVersion('v1', { ...schema, ...parts.version })],
      ...parts.spec,
    },
  };
}

const encoder = new TextEncoder();

export function bytesOf(text: string): Uint8Array {
  return encoder.encode(text);
}

/** JSON is YAML too, and its escapes pass whatever the YAML around it forbids. */
export function jsonBytes(value: unknown): Uint8Array {
  return bytesOf(JSON.stringify(value));
}

const QUOTED_PLACEHOLDER = '"@@@"';

/** A definition with `source` unchanged where a JSON value of `parts` is the text `@@@`. */
export function withSource(parts: Parts, source: string): Uint8Array {
  const text = JSON.stringify(definition(parts));
  if (!text.includes(QUOTED_PLACEHOLDER)) throw new Error('the definition has no placeholder');
  return bytesOf(text.replace(QUOTED_PLACEHOLDER, () => source));
}

/** A JSON value that `spliced` replaces. */
export const PLACEHOLDER = '@@@';

/** A case of a definition with these parts. */
export const caseOf = (name: string, verdict: HostileCase['verdict'], parts: () => Parts): HostileCase => ({
  name,
  verdict,
  make: () => jsonBytes(definition(parts())),
});
export const list = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
export const objectSchema = (properties: Fields, more: Fields = {}): Fields => ({
  type: 'object',
  description: 'A schema.',
  properties,
  ...more,
});
