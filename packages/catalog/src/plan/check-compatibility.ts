import { type Diagnostic, DOCUMENT_LIMITS, type FunctionDefinition, readYaml } from '@krmhub/schema';
import { compareDefinitions, isAlphaVersion } from '../compare/compare.js';
import type { ReleaseRecord } from '../ports/records.js';
import { publishDiagnostic } from './publish-codes.js';

export interface CompatibilityCheck {
  /** The release before. */
  before: Pick<ReleaseRecord, 'release' | 'definition'>;
  definition: FunctionDefinition;
  /** The exact bytes that the definition was read from. */
  bytes: Uint8Array;
  file: string;
  /** Whether breaking changes are warnings; in an alpha API version they always are. */
  allowBreaking: boolean;
}

const ALPHA_HINT = 'Announce the change. Breaking changes are allowed in alpha API versions.';

/** What a definition changes for those who use the release before: breaking changes first, then those to review. */
export function checkCompatibility(check: CompatibilityCheck): Diagnostic[] {
  const { before, definition, bytes, file, allowBreaking } = check;
  const changes = compareDefinitions(before.definition, definition)
    .filter(({ effect }) => effect !== 'compatible')
    .slice(0, DOCUMENT_LIMITS.maxDiagnostics);
  if (changes.length === 0) return [];
  // Read again with positions only where there is something to point at.
  const [document] = readYaml(bytes, { file }).documents;
  return changes.map(({ rule, effect, version, at, message }) => {
    const breaking = effect === 'breaking';
    const where = version === undefined ? '' : ` in ${version}`;
    const alpha = breaking && version !== undefined && isAlphaVersion(version);
    const diagnostic = publishDiagnostic(
      breaking ? 'publish/breaking' : 'publish/review',
      file,
      `since ${before.release}${where}: ${message} (${rule})`,
      at,
      document?.locate(at),
      breaking && !alpha && !allowBreaking ? 'error' : 'warning',
    );
    return alpha ? { ...diagnostic, hint: ALPHA_HINT } : diagnostic;
  });
}
