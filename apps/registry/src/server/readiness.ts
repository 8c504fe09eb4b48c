import type { Readiness } from '@krmhub/api/model';
import type { BlobStore } from '@krmhub/catalog';
import type { CatalogBuilder } from '../catalogs/catalog-builder.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';

interface ReadinessDeps {
  store: { check(): Promise<void> };
  blobs: Pick<BlobStore, 'check'>;
  artifacts: Pick<BlobStore, 'check'>;
  snapshotBuilder: Pick<CatalogBuilder, 'status'>;
  /** Absent if search is part of the database. */
  searchProblem?: () => Promise<string | undefined>;
  log: Log;
  /** Whether the registry stops; it still serves requests, and a load balancer has to send them elsewhere. */
  shutdown: { begun: boolean };
}

/** Returns a readiness check. Its result is reused for SERVER_LIMITS.readinessMilliseconds. */
export function readinessChecks(deps: ReadinessDeps): () => Promise<Readiness> {
  const check = reused(() => checkReadiness(deps));
  return async () => {
    const readiness = await check();
    if (!deps.shutdown.begun) return readiness;
    const shutdown = {
      name: 'shutdown',
      status: 'failing',
      detail: 'the registry is shutting down',
    } as const;
    return { status: 'failing', checks: [...readiness.checks, shutdown] };
  };
}

async function checkReadiness({
  store,
  blobs,
  artifacts,
  snapshotBuilder: builder,
  searchProblem,
  log,
}: ReadinessDeps): Promise<Readiness> {
  const attempt = async (
    name: 'store' | 'blobs',
    check: () => Promise<void>,
  ): Promise<Readiness['checks'][number]> => {
    try {
      await check();
      return { name, status: 'ok' };
    } catch (error) {
      log.error({ err: error, check: name }, 'readiness check failed');
      return { name, status: 'failing', detail: 'not writable; see the log' };
    }
  };
  const { caughtUp, failure, failing } = builder.status();
  // If one catalog cannot be built, its recipe is the cause: the registry still serves all others.
  const detail =
    failure ??
    (caughtUp
      ? failing.map(({ catalog, message }) => `${catalog}: ${message}`).join('; ')
      : 'the first build of the catalogs since startup is not complete');
  const checks: Readiness['checks'] = [
    ...(await Promise.all([
      attempt('store', () => store.check()),
      attempt('blobs', async () => void (await Promise.all([blobs.check(), artifacts.check()]))),
    ])),
    {
      name: 'catalogs',
      status: caughtUp && failure === undefined ? 'ok' : 'failing',
      ...(detail === '' ? {} : { detail }),
    },
    ...(searchProblem === undefined ? [] : [await searchCheck(searchProblem, log)]),
  ];
  return { status: checks.every(({ status }) => status === 'ok') ? 'ok' : 'failing', checks };
}

async function searchCheck(
  problem: () => Promise<string | undefined>,
  log: Log,
): Promise<Readiness['checks'][number]> {
  const detail = await problem().catch((error: unknown) => {
    log.error({ err: error, check: 'search' }, 'readiness check failed');
    return 'the search index cannot be read; see the log';
  });
  return { name: 'search', ...(detail === undefined ? { status: 'ok' } : { status: 'failing', detail }) };
}

/** Shares a result for a short time: the checks write, and any client can request them. */
function reused<T>(make: () => Promise<T>): () => Promise<T> {
  let made: { at: number; value: Promise<T> } | undefined;
  return () => {
    const now = performance.now();
    if (made === undefined || now - made.at > SERVER_LIMITS.readinessMilliseconds)
      made = { at: now, value: make() };
    return made.value;
  };
}
