import type { LifecycleAction } from '@krmhub/catalog';
import { isGroup, isKind, type Replacement, replacementReason } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { FieldProblems } from './field.js';
import type { LifecycleField } from './release-page.js';

const MAX_RANGE_LENGTH = 200;

/** Returns the reason and the replacement of a form, or what is wrong with its fields. */
export function lifecycleRequest(
  action: LifecycleAction,
  typed: { reason: string; replacement: string },
): { reason: string; replacement?: Replacement } | { problems: FieldProblems<LifecycleField> } {
  const reason = typed.reason.trim();
  if (action === 'unyank') return { reason: 'unyanked' };
  if (action === 'undeprecate') return { reason: 'undeprecated' };
  if (action === 'yank') {
    return reason === '' ? { problems: { 'yank-reason': { message: 'enter a reason' } } } : { reason };
  }
  if (typed.replacement.trim() === '') {
    return reason === ''
      ? { problems: { 'deprecate-reason': { message: 'enter a reason or a replacement' } } }
      : { reason };
  }
  const replacement = readReplacement(typed.replacement.trim());
  if (replacement === undefined) {
    const message = 'enter GROUP/KIND or GROUP/KIND@RANGE, for example example.com/SetLabels@^2.0.0';
    return { problems: { 'deprecate-replacement': { message } } };
  }
  return { reason: reason === '' ? replacementReason(replacement) : reason, replacement };
}

function readReplacement(text: string): Replacement | undefined {
  const [, group = '', kind = '', releases] = /^([^/@\s]+)\/([^/@\s]+)(?:@(\S.*))?$/.exec(text) ?? [];
  if (!isGroup(group) || !isKind(kind) || (releases?.length ?? 0) > MAX_RANGE_LENGTH) return undefined;
  return { group, kind, ...defined({ releases }) };
}
