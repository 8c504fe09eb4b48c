import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import type { FunctionDefinition, JsonObject } from '../documents/definition.js';
import { DOCUMENT_LIMITS } from '../documents/limits.js';
import { limitDiagnostics } from './findings.js';
import type { LintRuleset } from './rule.js';
import { runRules } from './rule.js';
import { RULES } from './rules.js';

/** Lints a definition that was not read from a file. The diagnostics have no positions. */
export function lintDefinition(
  definition: FunctionDefinition,
  options: { file?: string; ruleset?: LintRuleset } = {},
): Diagnostic[] {
  const draft: Draft = {
    file: options.file ?? '',
    spec: definition as unknown as JsonObject,
    locate: (path) => ({ path: ['spec', ...path] }),
  };
  const diagnostics = runRules(RULES, draft, options.ruleset ?? 'registry');
  return limitDiagnostics(diagnostics, DOCUMENT_LIMITS.maxDiagnostics, draft.file);
}
