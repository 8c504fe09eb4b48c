import { type Diagnostic, DOCUMENT_LIMITS, type FunctionDefinition, readYaml } from '@krmhub/schema';
import { compareDefinitions, isAlphaVersion } from '../compare/compare.js';
import type { ReleaseRecord } from '../ports/records.js';
import { publishDiagnostic } from './publish-codes.js';

export interface CompatibilityCheck {
  /** The previous release. */
  before: Pick<ReleaseRecord, 'release' | 'definition'>;
  definition: FunctionDefinition;
  /** The exact bytes of the definition. */
  bytes: Uint8Array;
  file: string;
  /** Whether breaking changes are warnings. In an alpha API version, they always are. */
  allowBreaking: boolean;
}

const ALPHA_HINT = 'Announce the change. Breaking changes are allowed in alpha API versions.';

/** Returns diagnostics for the changes since the previous release: breaking changes first, then changes to review. */
export function checkCompatibility(check: CompatibilityCheck): Diagnostic[] {
  const { before, definition, bytes, file, allowBreaking } = check;
  const changes = compareDefinitions(before.definition, definition)
    .filter(({ effect }) => effect !== 'compatible')
    .slice(0, DOCUMENT_LIMITS.maxDiagnostics);
  if (changes.length === 0) return [];
  // Parsed again with positions only if there are diagnostics.
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
