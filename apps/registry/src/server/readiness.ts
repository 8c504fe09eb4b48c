import type { Readiness } from '@krmhub/api/model';
import { defined } from '@krmhub/schema/defined';
import type { BuilderStatus, ObservableBuilder } from '../catalogs/build/catalog-builder.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import { bounded } from '../workers/locks/bounded.js';

interface Checked {
  check(): Promise<void>;
}

interface ReadinessDeps {
  store: Checked;
  blobs: Checked;
  artifacts: Checked;
  snapshotBuilder: ObservableBuilder;
  /** Catalogs without a snapshot. Absent if one process has the database. */
  missingCatalogs?: () => readonly string[];
  /** Absent if search is part of the database. */
  searchProblem?: () => Promise<string | undefined>;
  log: Log;
  /** Whether the registry stops; it still serves requests, and a load balancer has to send them to another process. */
  shutdown: { begun: boolean };
}

type Check = Readiness['checks'][number];
type CheckName = Check['name'];

/**
 * Returns the checks, without those to exclude, which do not run: some write, and probes of many processes ask often.
 * A result is reused for SERVER_LIMITS.readinessMilliseconds, except that a new process still fills its search index.
 */
export function readinessChecks(deps: ReadinessDeps): (exclude?: readonly CheckName[]) => Promise<Readiness> {
  const { store, blobs, artifacts, snapshotBuilder, missingCatalogs, searchProblem, shutdown, log } = deps;
  /** Later, a new catalog must not take a process out of service. */
  let hasCatalogs = missingCatalogs === undefined;
  const checkCatalogs = (): Check => {
    const status = snapshotBuilder.status();
    const missing = hasCatalogs ? [] : missingCatalogs!();
    const expected = missing.filter((name) => !status.failing.some(({ catalog }) => catalog === name));
    hasCatalogs ||= expected.length === 0;
    if (hasCatalogs || !status.caughtUp) return catalogCheck(status);
    const detail = `catalogs without a snapshot: ${expected.slice(0, 5).join(', ')}`;
    return { name: 'catalogs', status: 'failing', detail };
  };
  const checks: { name: CheckName; check: () => Promise<Check> }[] = [
    { name: 'store', check: reused(writes('store', () => store.check(), log)) },
    {
      name: 'blobs',
      check: reused(
        writes('blobs', async () => void (await Promise.all([blobs.check(), artifacts.check()])), log),
      ),
    },
    { name: 'catalogs', check: async () => checkCatalogs() },
    ...(searchProblem === undefined
      ? []
      : [{ name: 'search', check: reused(() => searchCheck(searchProblem, log), isOk) } as const]),
  ];
  return async (exclude = []) => {
    const wanted = checks.filter(({ name }) => !exclude.includes(name));
    const results = await Promise.all(wanted.map(({ check }) => check()));
    if (shutdown.begun && !exclude.includes('shutdown'))
      results.push({ name: 'shutdown', status: 'failing', detail: 'the registry is shutting down' });
    return { status: results.every(({ status }) => status === 'ok') ? 'ok' : 'failing', checks: results };
  };
}

/** Returns a check that something can be written. */
function writes(name: 'store' | 'blobs', write: () => Promise<void>, log: Log): () => Promise<Check> {
  // A probe may exclude this check, and must get the others.
  const attempt = bounded(write, SERVER_LIMITS.readinessCheckMilliseconds);
  return async () => {
    try {
      await attempt();
      return { name, status: 'ok' };
    } catch (error) {
      log.error({ err: error, check: name }, 'readiness check failed');
      return { name, status: 'failing', detail: 'not writable; see the log' };
    }
  };
}

function catalogCheck({ caughtUp, failure, failing }: BuilderStatus): Check {
  // If one catalog cannot be built, its recipe is the cause: the registry still serves all others.
  const detail =
    failure ??
    (caughtUp
      ? failing.map(({ catalog, message }) => `${catalog}: ${message}`).join('; ')
      : 'the first build of the catalogs since startup is not complete');
  return {
    name: 'catalogs',
    status: caughtUp && failure === undefined ? 'ok' : 'failing',
    ...defined({ detail: detail === '' ? undefined : detail }),
  };
}

async function searchCheck(problem: () => Promise<string | undefined>, log: Log): Promise<Check> {
  const detail = await problem().catch((error: unknown) => {
    log.error({ err: error, check: 'search' }, 'readiness check failed');
    return 'the search index cannot be read; see the log';
  });
  return { name: 'search', ...(detail === undefined ? { status: 'ok' } : { status: 'failing', detail }) };
}

const isOk = ({ status }: Check): boolean => status === 'ok';

/** Shares results to keep for a short time: the checks write or count, and any client can request them. */
function reused(make: () => Promise<Check>, keeps = (_: Check) => true): () => Promise<Check> {
  let made: { at: number; value: Promise<Check> } | undefined;
  return async () => {
    const now = performance.now();
    if (made === undefined || now - made.at > SERVER_LIMITS.readinessMilliseconds)
      made = { at: now, value: make() };
    const check = await made.value;
    if (!keeps(check)) made = undefined;
    return check;
  };
}
