import type { FunctionTakedown, TakedownResult } from '@krmhub/catalog';
import type { Work } from '../../sql/statement.js';
import type { Connection } from '../connection.js';
import { now } from '../run-now.js';
import { signatureWriter } from '../snapshots/signatures.js';
import { entryWithdrawer } from './withdraw-entries.js';

/** What a takedown changes in the snapshots of catalogs. */
export interface SnapshotWithdrawal {
  /** Removes the content of releases from every catalog; returns the snapshots that are withdrawn. */
  withdrawEntries(change: FunctionTakedown): Work<TakedownResult['withdrawn']>;
  /** Removes the signature of a snapshot, with its artifact. */
  removeSignature(catalog: string, serial: number): Work<void>;
}

export function snapshotWithdrawal(connection: Connection): SnapshotWithdrawal {
  const withdraw = entryWithdrawer(connection);
  const signatures = signatureWriter(connection);
  return {
    withdrawEntries: (change) => now(() => withdraw(change)),
    removeSignature: (catalog, serial) => now(() => signatures.remove(catalog, serial)),
  };
}
