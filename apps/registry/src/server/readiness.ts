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
  const { store, blobs, artifacts } = deps;
  const writable = {
    store: bounded(() => store.check()),
    blobs: bounded(async () => void (await Promise.all([blobs.check(), artifacts.check()]))),
  };
  const check = reused(() => checkReadiness(deps, writable));
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

async function checkReadiness(
  { snapshotBuilder: builder, searchProblem, log }: ReadinessDeps,
  writable: Record<'store' | 'blobs', () => Promise<void>>,
): Promise<Readiness> {
  const attempt = async (name: 'store' | 'blobs'): Promise<Readiness['checks'][number]> => {
    try {
      await writable[name]();
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
    ...(await Promise.all([attempt('store'), attempt('blobs')])),
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

/**
 * Rejects if a check does not end in time: a probe may exclude it, and must get the others. A check that hangs is not
 * started again.
 */
function bounded(check: () => Promise<void>): () => Promise<void> {
  let pending: Promise<void> | undefined;
  return async () => {
    pending ??= check().finally(() => {
      pending = undefined;
    });
    const milliseconds = SERVER_LIMITS.readinessCheckMilliseconds;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds);
    });
    try {
      await Promise.race([pending, late]);
    } finally {
      clearTimeout(timer);
    }
  };
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
