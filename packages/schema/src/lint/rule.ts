import { defined } from '../defined.js';
import type { Diagnostic, Path, Target } from '../diagnostics/diagnostic.js';
import { formatPath } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import type { LintRule, RuleCode } from './codes.js';
import { LINT_RULES } from './codes.js';

/** `registry`: the rules of a registry. `kep`: the exact text of KEP-2906. */
export const LINT_RULESETS = ['registry', 'kep'] as const;
export type LintRuleset = (typeof LINT_RULESETS)[number];

/**
 * Reports one problem. `path` is relative to the `spec` of the draft, in the normal form. Without a hint, the `fix` of
 * the rule is used.
 */
export type Report = (
  code: RuleCode,
  path: Path,
  message: string,
  options?: { hint?: string; target?: Target },
) => void;

/** Checks one definition. Never throws: any field may be missing or have another type. */
export type Rule = (draft: Draft, report: Report) => void;

const MAX_MESSAGE_LENGTH = 500;
/** Maximum number of findings per definition, as a limit for hostile documents. */
const MAX_REPORTS = 1_000;

/** Runs the rules for a draft, and returns diagnostics with positions and the severities of the ruleset. */
export function runRules(rules: readonly Rule[], draft: Draft, ruleset: LintRuleset): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const report: Report = (code, path, message, options = {}) => {
    const severity = ruleSeverity(code, ruleset);
    if (severity === 'off' || (diagnostics.length >= MAX_REPORTS && severity !== 'error')) return;
    if (diagnostics.length >= 2 * MAX_REPORTS) return;
    const location = draft.locate(path, options.target);
    diagnostics.push({
      code,
      severity,
      message: printable(message),
      file: draft.file,
      path: formatPath(location.path),
      ...defined({ range: location.range }),
      hint: printable(options.hint ?? LINT_RULES[code].fix),
    });
  };
  for (const rule of rules) rule(draft, report);
  return diagnostics;
}

function ruleSeverity(code: RuleCode, ruleset: LintRuleset): LintRule['severity'] {
  const rule: LintRule = LINT_RULES[code];
  return ruleset === 'kep' ? (rule.kep ?? rule.severity) : rule.severity;
}

const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

/** Escapes control characters in messages, because they quote documents. */
function printable(message: string): string {
  const short =
    message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : message;
  return short.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
