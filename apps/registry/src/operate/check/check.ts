/**
 * Checks everything in a data folder or a backup for damage (`krmhub fsck`), and changes nothing.
 *
 * It reads one state of the database next to the registry that serves it, and the files as they are. What a publish or
 * a build has in flight is not named by that state yet, and is not damage.
 *
 * @module
 */

import type { AuditHead } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { openBlobReaders, type S3Settings } from '../../store/blobs/blob-stores.js';
import { readBlobFolder } from '../../store/blobs/reader.js';
import { dataPaths } from '../../store/data-folder.js';
import { knownPlace } from '../../store/database-place.js';
import { findLostDatabase, findLostRows, LOST_HINT } from '../../store/lost-database.js';
import { rowsFirst } from '../../store/release-files.js';
import { isDamaged, translateSqliteError } from '../../store/sqlite/errors.js';
import { checkArtifactBlobs, checkManifests } from './artifacts.js';
import { checkAudit } from './audit.js';
import { openCheckedState } from './checked-state.js';
import { checkDatabase } from './database.js';
import { checkEvents } from './events.js';
import { type Check, type CheckInput, damage, type Finding, FROM_BACKUP } from './finding.js';
import { checkLeftovers } from './leftovers.js';
import { checkProfiles } from './profiles.js';
import { checkProvenance } from './provenance.js';
import { checkReleases } from './releases.js';
import { checkFullText, checkSearchRows } from './search.js';
import { checkSegments } from './segments.js';
import { checkSignatures } from './signatures.js';
import { checkEntries, checkSnapshots } from './snapshots.js';
import { checkSources, checkUpstreamEntries } from './sources.js';
import { checkTakedownRecord } from './takedown-record.js';
import { checkTakedowns } from './takedowns.js';
import { checkUpstreamRows } from './upstream.js';

/** All checks, by name. */
const CHECKS: Record<string, Check> = {
  database: checkDatabase,
  releases: checkReleases,
  takedowns: checkTakedowns,
  'takedown-record': checkTakedownRecord,
  events: checkEvents,
  audit: checkAudit,
  entries: checkEntries,
  snapshots: checkSnapshots,
  segments: checkSegments,
  provenance: checkProvenance,
  signatures: checkSignatures,
  forms: checkProfiles,
  manifests: checkManifests,
  artifacts: checkArtifactBlobs,
  sources: checkSources,
  'source-entries': checkUpstreamEntries,
  search: checkSearchRows,
  upstream: checkUpstreamRows,
  text: checkFullText,
  leftovers: checkLeftovers,
};

export interface CheckResult {
  /** Whether there is no damage. */
  healthy: boolean;
  counts: { functions: number; releases: number; catalogs: number; snapshots: number; events: number };
  /** The newest row of the audit log; absent without rows. */
  audit?: AuditHead;
  findings: Finding[];
}

export interface CheckOptions extends S3Settings {
  /** Absent for SQLite in the data folder. */
  databaseUrl?: string;
  startedAt: Date;
  /** Folder of the keys; absent for `keys` in the data folder. */
  keysFolder?: string;
  progress?: (line: string) => Promise<void>;
}

/**
 * Checks everything in a data folder, also while a registry serves it, and changes nothing. Reports every problem.
 * Rejects with `unavailable` if the database cannot be read at all.
 */
export async function checkRegistry(dataFolder: string, options: CheckOptions): Promise<CheckResult> {
  const { progress = async () => undefined } = options;
  const paths = dataPaths(dataFolder);
  const lost = options.databaseUrl === undefined ? findLostDatabase(paths) : undefined;
  if (lost !== undefined) {
    const counts = { functions: 0, releases: 0, catalogs: 0, snapshots: 0, events: 0 };
    return { healthy: false, counts, findings: [lostFinding(lost)] };
  }
  const place = knownPlace(paths, options.databaseUrl);
  const state = await openCheckedState(place, progress);
  try {
    const blobReader = await openBlobReaders(paths, options.databaseUrl, options);
    const input: CheckInput = {
      ...state,
      blobs: rowsFirst(state.store, blobReader('blobs')),
      profiles: readBlobFolder(paths.profiles),
      artifacts: blobReader('artifacts'),
      copies: readBlobFolder(paths.copies),
      keyFolder: options.keysFolder ?? paths.keys,
      takedownRecord: paths.takedowns,
      startedAt: options.startedAt,
      progress,
    };
    const counts = countRecords(input);
    const lostRows = findLostRows(paths, counts);
    const findings = lostRows === undefined ? [] : [lostFinding(lostRows)];
    for (const [name, check] of Object.entries(CHECKS)) {
      for await (const finding of finished(check, input)) findings.push({ check: name, ...finding });
    }
    const healthy = findings.every(({ severity }) => severity !== 'damage');
    return { healthy, counts, ...defined({ audit: readAuditHead(input) }), findings };
  } finally {
    await state.close();
  }
}

function lostFinding(problem: string): Finding {
  return { check: 'database', ...damage('registry.db', problem, LOST_HINT) };
}

/** Runs a check. Reports a check that fails as damage, so that the others still run. */
async function* finished(
  check: Check,
  input: CheckInput,
): ReturnType<Check> extends AsyncIterable<infer One> ? AsyncGenerator<One> : never {
  try {
    yield* check(input);
  } catch (failure) {
    const error = translateSqliteError(failure);
    if (error instanceof KrmhubError && error.code !== 'internal' && !isDamaged(error)) throw error;
    yield damage('registry.db', `the check ended early: ${(error as Error).message}`, FROM_BACKUP);
  }
}

function readAuditHead({ client }: CheckInput): AuditHead | undefined {
  try {
    return client
      .prepare<[], AuditHead>('SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1')
      .get();
  } catch {
    // The checks report a table that cannot be read.
    return undefined;
  }
}

/** Counts rows; 0 for tables that cannot be read. */
function countRecords({ client }: CheckInput): CheckResult['counts'] {
  const count = (table: string): number => {
    try {
      return client.prepare<[], number>(`SELECT count(*) FROM "${table}"`).pluck().get() ?? 0;
    } catch {
      return 0;
    }
  };
  return {
    functions: count('function'),
    releases: count('release'),
    catalogs: count('catalog'),
    snapshots: count('snapshot'),
    events: count('event'),
  };
}
