import { CHANGE_KINDS, type ChangeKind } from '@krmhub/schema/documents/change-kinds';
import type { CatalogChange, CatalogChangeClass } from './catalogs/classes.js';

const ORDER = Object.keys(CHANGE_KINDS) as ChangeKind[];

/** The kind of each class of changes. */
const KINDS: Record<CatalogChangeClass, ChangeKind> = {
  'function-removed': 'breaking',
  'function-added': 'patch',
  'version-removed': 'breaking',
  'alpha-version-removed': 'review',
  'version-added': 'new-field',

  'schema-breaking': 'breaking',
  'schema-review': 'review',
  'schema-compatible': 'patch',
  'idempotent-removed': 'review',
  'idempotent-added': 'patch',

  upgraded: 'patch',
  downgraded: 'review',
  'release-changed': 'review',
  rebuilt: 'patch',
  'digest-removed': 'review',
  'digest-added': 'patch',

  'network-needed': 'new-permission',
  'network-dropped': 'patch',
  'storage-needed': 'new-permission',
  'storage-dropped': 'patch',
  'registry-changed': 'other-registry',
  'runtime-changed': 'review',
  'platform-removed': 'review',
  'platform-added': 'patch',

  'signer-changed': 'other-signer',
  'signature-removed': 'other-signer',
  'signature-added': 'patch',
  'source-changed': 'review',
  'publisher-changed': 'review',
  'license-changed': 'review',
  'texts-changed': 'patch',
};

/** Returns the kinds of changes, each once, in order; `patch` only if there is no other. Empty without changes. */
export function changeKinds(changes: readonly Pick<CatalogChange, 'class' | 'rule'>[]): ChangeKind[] {
  const found = new Set(
    changes.map(({ class: name, rule }) => (rule === 'property-added' ? 'new-field' : KINDS[name])),
  );
  if (found.size > 1) found.delete('patch');
  return ORDER.filter((kind) => found.has(kind));
}
