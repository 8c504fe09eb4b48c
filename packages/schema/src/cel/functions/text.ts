import type { CelFunc } from '@bufbuild/cel';
import type { RE2JS } from 're2js';
import { type CompiledPattern, PatternSet } from '../../json-schema/pattern-set.js';
import { loadCel } from '../../libraries/lazy-libraries.js';
import type { Meter } from '../meter-expression.js';

/** A step of a regular expression costs a tenth of a step of a loop. */
const STEPS_PER_COST = 10;

/**
 * The functions of Kubernetes for regular expressions, and functions of the `strings` extension that are slow or wrong in
 * the library: `replace`, and `split` with a limit.
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-regex-library
 */
export function textFunctions(meter: Meter): CelFunc[] {
  const { CelScalar, celMethod, listType } = loadCel();
  const { INT, STRING } = CelScalar;
  const TEXTS = listType(STRING);
  const replace = (text: string, from: string, to: string, times: number) => {
    meter.budget.chargeText((text.length + 1) * (to.length + 1));
    const parts = from === '' ? ['', ...text, ''] : text.split(from);
    return limited(parts, from, times < 0 ? Number.POSITIVE_INFINITY : times + 1).join(to);
  };
  return [
    celMethod('find', STRING, [STRING], STRING, function (pattern) {
      return findAll(meter, pattern, this, 1)[0] ?? '';
    }),
    celMethod('findAll', STRING, [STRING], TEXTS, function (pattern) {
      return findAll(meter, pattern, this, Number.POSITIVE_INFINITY);
    }),
    celMethod('findAll', STRING, [STRING, INT], TEXTS, function (pattern, most) {
      return findAll(meter, pattern, this, most < 0n ? Number.POSITIVE_INFINITY : Number(most));
    }),
    celMethod('replace', STRING, [STRING, STRING], STRING, function (from, to) {
      return replace(this, from, to, -1);
    }),
    celMethod('replace', STRING, [STRING, STRING, INT], STRING, function (from, to, times) {
      return replace(this, from, to, Number(times));
    }),
    celMethod('split', STRING, [STRING, INT], TEXTS, function (separator, most) {
      if (most === 0n) return [];
      const parts = separator === '' ? [...this] : this.split(separator);
      return limited(parts, separator, most < 0n ? Number.POSITIVE_INFINITY : Number(most));
    }),
  ];
}

/** Compiles the patterns of `matches` as RE2, whose time is linear, and charges for them. */
export function linearExpressions(meter: Meter): {
  compile(pattern: string): { test(text: string): boolean };
} {
  return {
    compile: (pattern) => ({
      test(text) {
        const { expression, charge } = compile(meter, pattern);
        charge(text.length);
        return expression.test(text);
      },
    }),
  };
}

function findAll(meter: Meter, pattern: string, text: string, most: number): string[] {
  const { expression, charge } = compile(meter, pattern);
  const matcher = expression.matcher(text);
  const found: string[] = [];
  // Each search can read the whole rest of the text, also if it finds only its start.
  for (let rest = text.length; ; rest = text.length - matcher.end()) {
    charge(rest);
    if (found.length >= most || !matcher.find()) return found;
    found.push(matcher.group() ?? '');
  }
}

/** Returns a pattern, and what charges for one search in a text of a length. */
function compile(meter: Meter, pattern: string): { expression: RE2JS; charge: (length: number) => void } {
  // Patterns of earlier evaluations are remembered there.
  const compiled: CompiledPattern = new PatternSet().compile(pattern);
  if ('expression' in compiled) {
    const { expression, instructions } = compiled;
    const charge = (length: number) =>
      meter.budget.charge(Math.ceil(((length + 1) * instructions) / STEPS_PER_COST));
    return { expression, charge };
  }
  const reason = compiled.refused === 'syntax' ? compiled.reason : 'it is too long';
  throw new Error(`the regular expression ${JSON.stringify(pattern)} is not valid: ${reason}`);
}

/** Returns at most this many parts, of which the last has the rest. */
function limited(parts: string[], separator: string, most: number): string[] {
  if (parts.length <= most) return parts;
  return [...parts.slice(0, most - 1), parts.slice(most - 1).join(separator)];
}
