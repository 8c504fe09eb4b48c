import { type FunctionVersion, parseImageReference } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import { mapRuntime } from '../runtimes/runtimes.js';
import { shortened } from './evaluate-policy.js';
import type { RewriteRule } from './recipe.js';

/** Rewrites a reference with the first matching rule. The text after the prefix, including digests, stays. */
export function rewriteReference(rules: readonly RewriteRule[], reference: string): string {
  const rule = rules.find(({ from }) => reference.startsWith(from));
  return rule === undefined ? reference : rule.to + reference.slice(rule.from.length);
}

/** Rewrites references. Returns whether any of them changes, and an error if one becomes invalid. */
export function rewriteReferences(
  rules: readonly RewriteRule[],
  references: readonly string[],
): { changed: boolean; problem?: string } {
  let changed = false;
  for (const reference of references) {
    const rewritten = rewriteReference(rules, reference);
    if (rewritten === reference) continue;
    changed = true;
    const problem =
      referenceProblem(rewritten) ??
      (hasParentSegment(rewritten) ? 'has a path outside the mirror' : undefined);
    if (problem !== undefined)
      return { changed, problem: `${shortened(reference)} rewritten to a mirror ${problem}` };
  }
  return { changed };
}

/** Returns an API version with all references rewritten. */
export function rewriteVersion(rules: readonly RewriteRule[], version: FunctionVersion): FunctionVersion {
  const rewritten = mapRuntime(version.runtime, (runtime, declared) =>
    runtime.rewrite(declared, (reference) => rewriteReference(rules, reference)),
  );
  return { ...version, runtime: { ...version.runtime, ...rewritten } };
}

function referenceProblem(reference: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/.test(reference) && parseUrl(reference) !== undefined) return undefined;
  const image = parseImageReference(reference);
  return image.ok ? undefined : image.reason;
}

/** Reports whether a reference contains `..` in any encoding, which could point outside the mirror. */
function hasParentSegment(reference: string): boolean {
  const plain = reference.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '/');
  return plain.split(/[\\/]/).includes('..');
}
