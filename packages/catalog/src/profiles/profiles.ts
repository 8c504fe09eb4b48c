/**
 * Output dialects of catalogs for other tools (`--profile`).
 *
 * A profile reports each field that it does not support, so that nothing is lost silently.
 *
 * @module
 */

import { type FunctionDefinition, type Profile, type ProfileReport, sha256 } from '@krmhub/schema';
import type { CatalogHeader } from '../render/render.js';
import { kep } from './kep.js';
import { kepSchema } from './kep-schema.js';
import { kptList } from './kpt-list.js';
import { kustomizePrototype } from './kustomize-prototype.js';
import { porch } from './porch.js';
import type { ProfileDialect } from './profile.js';
import { profileReportPieces } from './report.js';

export const PROFILE_DIALECTS: Record<Profile, ProfileDialect> = {
  kep,
  'kep-schema': kepSchema,
  'kustomize-prototype': kustomizePrototype,
  porch,
  'kpt-list': kptList,
};

/**
 * Renders a catalog in a profile, and returns the unsupported fields. The definitions must be in the order of
 * `compareFunctionNames`. Throws a TypeError for strings that cannot be written (`isWritable`).
 */
export function renderProfile(
  profile: Profile,
  header: CatalogHeader,
  definitions: Iterable<FunctionDefinition>,
): { text: string; report: ProfileReport } {
  const { unsupportedFields, writer } = PROFILE_DIALECTS[profile];
  const document = writer(header);
  const reports = profileReportPieces({ catalog: header.name, profile }, unsupportedFields);
  let [text, report, functions, omitted] = ['', '', 0, 0];
  for (const definition of definitions) {
    const { text: piece, written, unsupported } = document.entry(definition);
    text += piece;
    report += reports.values(unsupported);
    if (written) functions += 1;
    else omitted += 1;
  }
  text += document.end();
  report += reports.end({ digest: sha256(text), functions, omitted });
  return { text, report: JSON.parse(report) as ProfileReport };
}
