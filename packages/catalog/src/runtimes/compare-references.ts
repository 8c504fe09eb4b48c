/** Compares the references of two definitions: their digests and addresses. */

import type { Path } from '@krmhub/schema/diagnostic';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { ChangedReference, ReportChange } from './runtime.js';

/** Reports a reference that is pinned by digest only on one side. */
export function comparePins(
  what: string,
  before: string | undefined,
  after: string | undefined,
  at: Path,
  report: ReportChange,
): void {
  if ((before === undefined) === (after === undefined)) return;
  if (after === undefined) report('digest-removed', at, `${what} is no longer pinned by digest`);
  else report('digest-added', at, `${what} is now pinned by digest`);
}

/** Returns the digest of a reference, from its field or its URL, as 64 hexadecimal digits. */
export function pinnedDigest(address: string | undefined, field?: string): string | undefined {
  return field?.replace(/^sha256:/, '') ?? /(?:@sha256:|#sha256=)([0-9a-f]{64})$/.exec(address ?? '')?.[1];
}

export function changedReference(address: string | undefined, digest?: string): ChangedReference {
  return { address, digest: pinnedDigest(address, digest) };
}

export function compareAddresses(
  what: string,
  before: string,
  after: string,
  at: Path,
  report: ReportChange,
): void {
  if (before === after) return;
  const [was, is] = [addressHost(before), addressHost(after)];
  if (was === is) report('download-changed', at, `${what} has another URL on ${is}`);
  else report('registry-changed', at, `the host of ${what} changed from ${was} to ${is}`);
}

/**
 * Returns the host of an address, as what downloads it reads it: in `git::https://…` and `git+https://…`, that of the
 * URL inside. The whole address if it has none, or if programs read different ones in it.
 */
function addressHost(address: string): string {
  const host = parseUrl(address.replace(/^git(?:::|\+)/i, ''))?.host ?? '';
  return host === '' || address.includes('\\') ? address : host.toLowerCase();
}
