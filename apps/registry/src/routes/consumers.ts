import { ConsumerReport, type ConsumerResult, type FunctionConsumers } from '@krmhub/api/consumer-model';
import { ROUTES } from '@krmhub/api/routes';
import {
  type AccessRules,
  type ConsumedRelease,
  type ConsumerStore,
  describeWorkflow,
  type FunctionReader,
  functionKey,
  type TokenRecord,
  tokenActor,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { compareText } from '@krmhub/schema/compare-text';
import { type Authority, authenticate, refuseLacking } from '../http/auth/authorize.js';
import { callerOf } from '../http/auth/caller.js';
import { countConsumers, mayCountConsumers, oldestReport } from '../http/auth/count-consumers.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import { SERVER_LIMITS } from '../limits.js';
import { type FindStore, findFunction } from '../store/find-record.js';

interface ConsumerDeps extends Authority {
  store: Authority['store'] & FindStore & ConsumerStore;
}

/**
 * Routes of packages that use functions. Any token reports, so that counts cannot be made up without one; who may break
 * the users of a function reads the counts.
 */
export function consumerRoutes(app: RegistryApp, deps: ConsumerDeps): void {
  const { store, access, clock } = deps;

  serveRoute(app, ROUTES.reportConsumer, async (c) => {
    const token = await authenticate(c, deps);
    refuseDirectory(access.rules, token);
    const { name, releases: given } = await readJsonBody(c, ConsumerReport);
    const releases = await countedReleases(store, given);
    const now = clock();
    const reportedAt = now.toISOString();
    const outcome = await store.putConsumer(
      { reporter: reporterOf(token), name, reportedAt, releases },
      { expired: oldestReport(now), max: SERVER_LIMITS.maxConsumers },
      { at: reportedAt, ...callerOf(c, token) },
    );
    if (outcome === 'too-many') {
      throw new KrmhubError('conflict', `${SERVER_LIMITS.maxConsumers} other packages are already reported`, {
        hint: 'Delete the reports of packages that no longer exist: send them without releases.',
      });
    }
    const result: ConsumerResult = { outcome, releases: releases.length };
    return c.json(result);
  });

  serveRoute(app, ROUTES.functionConsumers, async (c, { params }) => {
    const token = await authenticate(c, deps);
    const { group, kind } = await findFunction(store, params);
    if (!mayCountConsumers(access.rules, token, { group, kind })) {
      refuseLacking(access.rules, token, 'publish', { group, kind });
    }
    const counts: FunctionConsumers = await countConsumers(deps, { group, kind });
    return c.json(counts, 200, { 'Cache-Control': 'no-store' });
  });
}

/** Tokens come and go: those of a team or of a user are one reporter. */
function reporterOf({ id, team, user, run }: TokenRecord): string {
  if (team !== undefined) return `team/${team}`;
  if (user !== undefined) return `user/${user.id}`;
  return run === undefined ? `token/${id}` : `workflow/${describeWorkflow(run)}`;
}

/** The token of a directory manages users, and is for nothing else. */
function refuseDirectory(rules: AccessRules, token: TokenRecord): void {
  if (tokenActor(rules, token).isInside) return;
  throw new KrmhubError('forbidden', `the token "${token.name}" is for a directory alone`, {
    hint: 'Report with another token, for example one with the scope read.',
  });
}

/** Returns the releases that exist for the client, each once, as the registry spells them. */
async function countedReleases(
  store: FunctionReader,
  given: readonly ConsumedRelease[],
): Promise<ConsumedRelease[]> {
  const functions = new Map((await store.functions(given)).map((one) => [functionKey(one), one]));
  const counted = new Map<string, ConsumedRelease>();
  for (const { group, kind, version, release, fields } of given) {
    const fn = functions.get(functionKey({ group, kind }));
    const known = fn?.releases.find((one) => one.release === release);
    if (fn === undefined || known === undefined || !known.versions.includes(version)) continue;
    const key = `${group}/${fn.kind} ${version} ${release}`;
    const all = [...(counted.get(key)?.fields ?? []), ...(fields ?? [])];
    const isReported = fields !== undefined || counted.get(key)?.fields !== undefined;
    const distinct = [...new Set(all)].sort(compareText);
    const one = { group, kind: fn.kind, version, release };
    counted.set(key, isReported ? { ...one, fields: distinct } : one);
  }
  return [...counted.values()];
}
