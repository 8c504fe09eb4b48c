/** Compares the references of two definitions: their digests and addresses. */

import type { Path } from '@krmhub/schema/diagnostic';
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

/** Returns the host of a URL: the text between the scheme and the first slash. */
function addressHost(address: string): string {
  return /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)/i.exec(address)?.[1]?.toLowerCase() ?? address;
}
