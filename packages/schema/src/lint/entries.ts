import { quote } from '../diagnostics/quote.js';
import type { Draft } from '../dialects/draft.js';
import { listVersions, textField } from '../json/access.js';
import { functionName } from './names.js';
import type { Report } from './rule.js';

/** The names in earlier entries of a catalog. `at` is the index of the current entry. */
export type EntryCheck = (draft: Draft, at: number, report: Report) => void;

/** Reports names that an entry repeats from earlier entries of the catalog. */
export function createEntryCheck(): EntryCheck {
  const versions = new Map<string, number>();
  const kinds = new Map<string, { kind: string; entry: number }>();
  return ({ spec }, at, report) => {
    const name = functionName(spec);
    if (name === undefined) return;
    const { group, kind } = name;
    const folded = JSON.stringify([group, kind.toLowerCase()]);
    const earlier = kinds.get(folded);
    if (earlier === undefined) kinds.set(folded, { kind, entry: at });
    else if (earlier.kind !== kind) {
      const message = `${quote(kind)} and ${quote(earlier.kind)} of entry ${earlier.entry} differ only in case`;
      report('catalog/kind-case', ['names', 'kind'], message, {
        hint: 'OCI registries use lower-case names, so both have the same name there.',
      });
    }
    for (const { version, path } of listVersions(spec)) {
      const versionName = textField(version, 'name');
      if (versionName === undefined) continue;
      const key = JSON.stringify([group, kind, versionName]);
      const first = versions.get(key);
      if (first === undefined) versions.set(key, at);
      else if (first !== at) {
        const message = `${versionName} of ${quote(`${group}/${kind}`)} is already in entry ${first}; the first one wins`;
        report('catalog/duplicate-version', [...path, 'name'], message);
      }
    }
  };
}
