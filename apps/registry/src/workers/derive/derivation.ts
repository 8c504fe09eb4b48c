/**
 * Derived documents: pages, JSON Schemas, profiles, and reports.
 *
 * They depend only on stored bytes that never change and on a small input, such as the verdicts on a release. A
 * definition can be almost a megabyte, and one client can ask for its page all the time, so:
 *
 * - The input determines the bytes, and these the ETag, so it is the same in every process. A client that has the
 *   document gets a 304, and a process that has rendered it once does not again.
 * - A document is rendered once, in a thread of its own (server/derive-thread.ts), and then cached with its compressed
 *   forms.
 * - The main thread never parses a definition to answer a read. Details of functions contain it as it is stored.
 *
 * @module
 */

import type {
  AccessReader,
  BlobBytes,
  FunctionReader,
  OpenableBlobs,
  OwnerClaimReader,
  SnapshotStore,
  WritableBlobs,
} from '@krmhub/catalog';
import type { PublicAddress } from '../../http/public-address.js';

/** What derivations read and write. */
export interface DeriveDeps {
  store: FunctionReader & SnapshotStore & AccessReader & OwnerClaimReader;
  /** Definitions and READMEs. */
  blobs: BlobBytes;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobBytes & OpenableBlobs;
  profileBlobs: WritableBlobs;
  config: PublicAddress;
}

/** Derives an output from an input and the stored bytes that the input names. Both are cloned between threads. */
export interface Derivation<Input, Output = Uint8Array> {
  /** Unique among derivations. */
  name: string;
  derive(deps: DeriveDeps, input: Input): Promise<Output>;
}

/** Runs a derivation, in this thread or another one. */
export type Derive = <Input, Output>(derivation: Derivation<Input, Output>, input: Input) => Promise<Output>;

/** Derives in this thread, as tests need it. */
export function deriveHere(deps: DeriveDeps): Derive {
  return async ({ derive }, input) => derive(deps, structuredClone(input));
}

/** Returns a value that is made once for the dependencies of a thread. */
export function oncePerThread<Value>(make: (deps: DeriveDeps) => Value): (deps: DeriveDeps) => Value {
  const made = new WeakMap<DeriveDeps, { value: Value }>();
  return (deps) => {
    const known = made.get(deps) ?? { value: make(deps) };
    made.set(deps, known);
    return known.value;
  };
}
