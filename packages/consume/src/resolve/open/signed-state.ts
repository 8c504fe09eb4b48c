import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest } from '@krmhub/schema/digest';
import type { PinnedSnapshot } from '../../trust/require-snapshot.js';
import type { ReadState } from '../read/catalog-reader.js';

/** The state of a catalog whose bytes have this digest, with the snapshot that a pinned key signed, if one did. */
export function signedState(digest: Digest, signed: PinnedSnapshot | undefined): ReadState {
  if (signed === undefined) return { digest };
  const { catalog, serial, key } = signed;
  return { name: catalog, serial, digest, ...defined({ key: isDigest(key) ? key : undefined }) };
}
