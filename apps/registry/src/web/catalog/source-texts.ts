import { describeSigner, type RecipeSource, type Selector, type SourceRecord } from '@krmhub/catalog';
import { SOURCE_PROBLEM_HINTS, type SourceProblem } from '@krmhub/schema';
import type { Tone } from '../parts/label.js';

/** Returns the state of an upstream catalog as a label. */
export function sourceState({ checkedAt, failure, copy }: SourceRecord): { tone: Tone; word: string } {
  if (checkedAt === undefined) return { tone: 'plain', word: 'not synced yet' };
  if (failure === undefined) return { tone: 'good', word: 'current' };
  return copy === undefined ? { tone: 'danger', word: 'missing' } : { tone: 'warning', word: 'stale' };
}

const PROBLEMS: Record<SourceProblem, string> = {
  unreachable: 'No response from its URL',
  'too-slow': 'The request timed out',
  'too-large': 'The response is too large',
  'forbidden-address': 'This registry is not allowed to connect to its address',
  'too-many-redirects': 'Too many redirects',
  'not-found': 'Not found at this URL',
  unauthorized: 'Missing or wrong credentials',
  'bad-answer': 'The response is not a catalog',
  'invalid-catalog': 'The catalog is invalid',
  signature: 'Its signature is missing or invalid, but an earlier copy was signed',
  rollback: 'It serves an older snapshot than before',
  frozen: 'Its signature has expired',
  equivocation: 'It serves different content for a known serial',
  internal: 'The sync failed',
};

/** Returns the problem of a source with a hint; undefined if there is none. */
export function sourceProblem({ failure }: SourceRecord): { what: string; hint: string } | undefined {
  if (failure === undefined) return undefined;
  return { what: PROBLEMS[failure.problem], hint: SOURCE_PROBLEM_HINTS[failure.problem] };
}

export function requiredSigners({ copy }: SourceRecord): string[] {
  return (copy?.signatures ?? []).map(({ signer }) => describeSigner(signer));
}

/** Maximum number of listed selectors; the recipe has all. */
const MAX_SELECTORS = 3;

/** Returns which part of the source the recipe selects; undefined for everything. */
export function selectionText({ match, exclude, release }: RecipeSource): string | undefined {
  const parts = [
    ...(release === undefined ? [] : [`releases ${release}`]),
    ...(match === undefined ? [] : [`only ${selectorsText(match)}`]),
    ...(exclude.length === 0 ? [] : [`without ${selectorsText(exclude)}`]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

function selectorsText(selectors: readonly Selector[]): string {
  const more = selectors.length - MAX_SELECTORS;
  const listed = selectors.slice(0, MAX_SELECTORS).map(selectorText);
  return `${listed.join(' or ')}${more > 0 ? ` or ${more} more` : ''}`;
}

function selectorText(selector: Selector): string {
  const fields = Object.entries(selector).filter(([, value]) => value !== undefined);
  if (fields.length === 0) return 'everything';
  return fields
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(' and ') : value}`)
    .join(', ');
}

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** Returns a duration in the largest unit that fits: `6 hours`. */
export function durationText(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds % size === 0 && seconds >= size) ?? UNITS[3];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
