import { defined } from '../defined.js';
import { type Diagnostic, formatPath, type Path } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import { CONVERT_CODES } from './codes.js';
import { completeDefinition, type EntryDefaults, type FilledField, KEP_DEFAULTS } from './complete.js';

export interface CompletedDraft {
  draft: Draft;
  /** A diagnostic for each completed or omitted field, at its position in the document. */
  diagnostics: Diagnostic[];
  /** The unique names of these fields. */
  fields: string[];
}

/** Completes a definition of a KEP document. Diagnostics of the completed draft have the author's positions. */
export function completeDraft(draft: Draft, defaults: EntryDefaults = {}): CompletedDraft {
  const { spec, filled, authored } = completeDefinition(draft.spec, { ...KEP_DEFAULTS, ...defaults });
  return {
    draft: { ...draft, spec, locate: (path, target) => draft.locate(authored(path), target) },
    diagnostics: filled.map((one) => toDiagnostic(one, draft)),
    fields: [...new Set(filled.map(({ path }) => fieldName(path)))],
  };
}

function toDiagnostic({ code, path, message }: FilledField, draft: Draft): Diagnostic {
  const { severity, fix } = CONVERT_CODES[code];
  const location = draft.locate(path, 'key');
  return {
    code,
    severity,
    message,
    file: draft.file,
    path: formatPath(location.path),
    ...defined({ range: location.range }),
    hint: fix,
  };
}

/** Returns the last name of a path: `license` for `versions[0].license`. */
function fieldName(path: Path): string {
  return String(path.findLast((segment) => typeof segment === 'string') ?? '');
}
