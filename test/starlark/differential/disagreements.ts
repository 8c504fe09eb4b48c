import type { Outcome } from './oracle.js';

/** A difference from starlark-go that is intended, or that no script depends on. */
interface Disagreement {
  reason: string;
  ours: RegExp;
  theirs: RegExp;
}

/** The patterns match the errors, or the outputs of programs that succeed. */
const DISAGREEMENTS: readonly Disagreement[] = [
  {
    reason: 'starlark-go crashes, for example where a method of a set has no argument',
    ours: /^/,
    theirs: /^panic: /m,
  },
  {
    reason: 'of several wrong arguments, another one is reported first',
    ours: /unexpected keyword argument|got \d+ arguments|got multiple values|for parameter|missing argument/,
    theirs:
      /unexpected keyword argument|got \d+ arguments|got multiple values|for parameter|missing argument/,
  },
  {
    reason: 'an attribute that does not exist has the same message for all types',
    ours: /^time\.\w+ has no \.\w+ field or method/,
    theirs: /^unrecognized time\.\w+ attribute/,
  },
  {
    reason: 'starlark-go does not look at the key where a dict or set never had an entry',
    ours: /unhashable/,
    theirs: /missing key|^[^:]*$/,
  },
  {
    reason: 'sorting compares other pairs first, and reports the first pair without order',
    ours: /^\S+ < \S+ not implemented$/,
    theirs: /^\S+ < \S+ not implemented$/,
  },
  {
    reason: 'bytes have no JSON; starlark-go encodes their methods, and fails for the first one',
    ours: /cannot encode bytes as JSON$/,
    theirs: /in field \.elems: cannot encode builtin_function_or_method as JSON$/,
  },
  {
    reason: 'starlark-go does not count the elements of an iterable without length',
    ours: /^too many values to unpack \(got \d+, want \d+\)$/,
    theirs: /^too many values to unpack \(got -1, want \d+\)$/,
  },
  {
    reason: 'ranges are within the integers that a double holds exactly',
    ours: /^range: for parameter \d: -?\d+ out of range$/,
    theirs: /^/,
  },
  {
    reason: 'times are within 271,821 years around 1970, as those of JavaScript',
    ours: /^time out of range$/,
    theirs: /^/,
  },
];

/** Returns why the outcomes of a program may differ, or undefined. */
export function reasonFor(ours: Outcome, theirs: Outcome): string | undefined {
  const row = DISAGREEMENTS.find(
    (known) => known.ours.test(ours.error ?? ours.output) && known.theirs.test(theirs.error || theirs.output),
  );
  return row?.reason;
}

/**
 * Makes outcomes comparable: starlark-go quotes the name of a parameter that is given by keyword, and Node.js decodes a
 * run of invalid bytes to another number of replacement characters.
 */
export function comparable({ output, error }: Outcome): string {
  const named = error?.replace(/(for parameter|keyword argument) "(\w+)"/g, '$1 $2').trimEnd();
  // A byte that is not UTF-8 is a lone surrogate.
  const valid = named?.replace(/(?<![\ud800-\udbff])[\udc80-\udcff]/g, '\ufffd');
  return JSON.stringify([output, valid ?? null]).replace(/\ufffd+/g, '\ufffd');
}
