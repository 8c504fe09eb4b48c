import type { JsonValue } from '../documents/definition.js';
import { isSet, keyword } from '../json-schema/open-api.js';
import type { PatternSet } from '../json-schema/pattern-set.js';
import type { SchemaParts } from './schema-parts.js';

/** Examples of the formats that Kubernetes knows. Addresses and names are reserved for documentation. */
const BY_FORMAT: Readonly<Record<string, string>> = {
  byte: 'ZXhhbXBsZQ==',
  cidr: '192.0.2.0/24',
  date: '2024-01-31',
  'date-time': '2024-01-31T12:00:00Z',
  datetime: '2024-01-31T12:00:00Z',
  duration: '1h30m',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  mac: '00:00:5e:00:53:01',
  uri: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

/** Values that match common patterns. The first match is used. */
const CANDIDATES = [
  'example',
  'Example',
  'EXAMPLE',
  'a',
  'A',
  '1',
  '0',
  'v1',
  '1.0.0',
  'v1.0.0',
  'example.com',
  'example.com/v1',
  'example/example',
  'https://example.com/',
  'https://example.com/example.git',
  'oci://example.com/example',
  'example.com/example:v1.0.0',
  `example.com/example@sha256:${'0'.repeat(64)}`,
  `sha256:${'0'.repeat(64)}`,
  '0'.repeat(64),
  '0'.repeat(40),
  '/example',
  './example',
  'example.yaml',
  'key=value',
  'key: value',
  'someone@example.com',
  '1h',
  '10s',
  '100m',
  '1Gi',
  '50%',
  '192.0.2.1',
  '192.0.2.0/24',
  '2024-01-31',
  '2024-01-31T12:00:00Z',
  '#000000',
  '$example',
];

const MAX_PADDING = 200;

/** Returns a string that satisfies the length, format, and patterns, if one is found. */
export function exampleText(parts: SchemaParts, patterns: PatternSet): string {
  const least = Math.max(0, ...keywordNumbers(parts, 'minLength'));
  const most = Math.min(Number.POSITIVE_INFINITY, ...keywordNumbers(parts, 'maxLength'));
  const written = parts.flatMap((part) => (keyword(part, 'pattern') as string | undefined) ?? []);
  for (const part of parts) {
    const format = keyword(part, 'format') as string | undefined;
    const known = format !== undefined && Object.hasOwn(BY_FORMAT, format) ? BY_FORMAT[format] : undefined;
    if (known !== undefined && fits(known)) return known;
  }
  return CANDIDATES.map(sized).find(fits) ?? sized('example');

  function sized(text: string): string {
    const padded = text.length < least && least <= MAX_PADDING ? text.padEnd(least, text) : text;
    return padded.slice(0, Math.min(most, padded.length));
  }
  function fits(text: string): boolean {
    return (
      text.length >= least && text.length <= most && written.every((pattern) => patterns.test(pattern, text))
    );
  }
}

/** Returns a number in the bounds: 1, or the nearest valid number. */
export function exampleNumber(parts: SchemaParts, integer: boolean): number {
  const step = Math.max(0, ...keywordNumbers(parts, 'multipleOf')) || undefined;
  const unit = step ?? (integer ? 1 : undefined);
  let low = Number.NEGATIVE_INFINITY;
  let high = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    const minimum = keyword(part, 'minimum') as number | undefined;
    const maximum = keyword(part, 'maximum') as number | undefined;
    if (minimum !== undefined)
      low = Math.max(low, isSet(part, 'exclusiveMinimum') ? minimum + (unit ?? 0.5) : minimum);
    if (maximum !== undefined)
      high = Math.min(high, isSet(part, 'exclusiveMaximum') ? maximum - (unit ?? 0.5) : maximum);
  }
  const near = Math.max(low, Math.min(1, high));
  if (unit === undefined) return near;
  const up = Math.ceil(near / unit) * unit;
  return up <= high ? up : Math.floor(near / unit) * unit;
}

/** Returns the required number of items or entries. */
export function minimumCount(parts: SchemaParts, name: 'minItems' | 'minProperties'): number {
  return Math.max(0, ...keywordNumbers(parts, name));
}

function keywordNumbers(
  parts: SchemaParts,
  name: 'minLength' | 'maxLength' | 'minItems' | 'minProperties' | 'multipleOf',
): number[] {
  return parts.flatMap((part) => (keyword(part, name) as number | undefined) ?? []);
}

/** Returns the value in a schema: its default, its example, or the first enum value. */
export function givenValue(parts: SchemaParts): JsonValue | undefined {
  for (const name of ['default', 'example'] as const) {
    for (const part of parts) {
      const value = keyword(part, name);
      if (value !== undefined) return value;
    }
  }
  for (const part of parts) {
    const values = keyword(part, 'enum') as JsonValue[] | undefined;
    const first = values?.find((value) => value !== null);
    if (first !== undefined) return first;
  }
  return undefined;
}
