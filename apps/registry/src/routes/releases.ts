import type { PublishResult } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import {
  predecessorOf,
  type ReleaseFiles,
  type ReleaseRecord,
  RevisionConflict,
  shownRelease,
} from '@krmhub/catalog';
import { type Diagnostic, type Digest, type FunctionName, KrmhubError } from '@krmhub/schema';
import { authorise } from '../authorise.js';
import { asTheyAre, type Body, bytesAnswer, CACHE_FOREVER } from '../bytes-answer.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';
import { foundRelease } from '../lookup.js';
import { releaseDetail, releaseSummary } from '../presentation.js';
import { publicAddress } from '../public-address.js';
import { readSubmission, type Submission } from '../submission.js';

/** What somebody uploaded must not run in a browser on the registry's origin. */
const UPLOADED = {
  'Content-Disposition': 'inline',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

export function releaseRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, blobs } = parts;

  serveRoute(app, ROUTES.release, async (c, { params }) => {
    const { release } = await foundRelease(store, params);
    return c.json(releaseDetail(release));
  });

  serveRoute(app, ROUTES.publish, async (c, { params, query }) => {
    const { name: by } = await authorise(c, parts, 'publish', params.group);
    const submission = await readSubmission(c);
    const result = await parts.turns.take(turnOf(params), () =>
      publish(parts, params, submission, by, query),
    );
    if (query.wait && !query.dryRun) {
      await parts.cutter.waitFor(await store.lastEvent());
      result.catalogs = await snapshotsHolding(parts, result.release, result.release.release);
    }
    if (result.outcome !== 'created' || result.dryRun) return c.json(result);
    const { group, kind, release } = result.release;
    const Location = publicAddress(parts.config, fillPath('release', { group, kind, release }));
    return c.json(result, 201, { Location });
  });

  /** Who asks for what is not there learns why. */
  const filesOf = async (name: FunctionName & { release: string }): Promise<ReleaseFiles> =>
    (await store.releaseFiles(name.group, name.kind, name.release)) ??
    (await foundRelease(store, name)).release;

  serveRoute(app, ROUTES.definition, async (c, { params }) => {
    const release = await filesOf(params);
    return bytesAnswer(c, {
      digest: release.digest,
      mediaType: release.mediaType,
      cacheControl: CACHE_FOREVER,
      headers: UPLOADED,
      find: () => storedBytes(release.digest),
    });
  });

  serveRoute(app, ROUTES.readme, async (c, { params }) => {
    const { readme } = await filesOf(params);
    if (readme === undefined) {
      throw new KrmhubError('not-found', `${params.group}/${params.kind}@${params.release} has no README`);
    }
    return bytesAnswer(c, {
      digest: readme,
      mediaType: 'text/markdown; charset=utf-8',
      cacheControl: CACHE_FOREVER,
      headers: UPLOADED,
      find: () => storedBytes(readme),
    });
  });

  async function storedBytes(digest: Digest): Promise<{ coding: 'identity'; body: Body }> {
    const bytes = await blobs.get(digest);
    if (bytes === undefined) throw new Error(`the blob ${digest} is lost`);
    return asTheyAre(bytes);
  }
}

async function publish(
  parts: RegistryParts,
  { group, kind, release }: FunctionName & { release: string },
  submission: Submission,
  by: string,
  { dryRun, allowBreaking }: { dryRun: boolean; allowBreaking: boolean },
): Promise<PublishResult> {
  const { store, blobs, clock, metrics, cutter } = parts;
  const answer = (
    outcome: PublishResult['outcome'],
    record: ReleaseRecord,
    diagnostics: PublishResult['diagnostics'],
  ): PublishResult => ({
    outcome,
    dryRun,
    release: { ...releaseSummary(record), group: record.group, kind: record.kind },
    diagnostics,
    catalogs: [],
  });

  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.function(group, kind);
    const named = async (name: string) => current && store.release(current.group, current.kind, name);
    const predecessor = predecessorOf(current, release);
    const plan = await parts.planner.plan({
      name: { group, kind },
      release,
      ...submission,
      current,
      currentRelease: await named(release),
      newest: current && (await named(shownRelease(current.releases).release)),
      takedowns: await store.takedowns(group, kind),
      predecessor: predecessor === undefined ? undefined : await named(predecessor),
      allowBreaking,
      now: clock().toISOString(),
      by,
    });
    metrics.publish(dryRun ? `dry-run-${plan.outcome}` : plan.outcome);
    if (plan.outcome === 'conflict') throw plan.error;
    if (plan.outcome === 'invalid') throw refusal(plan.diagnostics);
    if (plan.outcome === 'unchanged') return answer('unchanged', plan.release, plan.diagnostics);
    if (dryRun) return answer('created', plan.change.release, plan.diagnostics);
    try {
      await parts.gate.shared(async () => {
        // Durable before the transaction that names them.
        for (const blob of plan.blobs) await blobs.put(blob);
        await store.commitFunction(plan.change);
      });
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    cutter.wake();
    return answer('created', plan.change.release, plan.diagnostics);
  }
  throw busy(group, kind);
}

function refusal(diagnostics: readonly Diagnostic[]): KrmhubError {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const count = (noun: string) => `${errors.length} ${noun}${errors.length === 1 ? '' : 's'}`;
  if (errors.every(({ code }) => code === 'publish/breaking')) {
    return new KrmhubError(
      'invalid-document',
      `The definition has ${count('breaking change')} since the release before`,
      {
        diagnostics,
        hint: '`krmhub diff` tells all changes; `allowBreaking=true` (`--allow-breaking`) publishes them as they are.',
      },
    );
  }
  return new KrmhubError('invalid-document', `The submission has ${count('error')}`, {
    diagnostics,
    hint: 'Mend what is named, and publish again.',
  });
}

/** The newest snapshots in which an API version of the function comes from the release. */
async function snapshotsHolding(
  { store }: RegistryParts,
  { group, kind }: FunctionName,
  release: string,
): Promise<PublishResult['catalogs']> {
  const holding: PublishResult['catalogs'] = [];
  for (const name of await store.catalogsHolding(group, kind)) {
    const [place] = await store.catalogFunctions(name, [{ group, kind }]);
    const newest = (await store.catalog(name))?.newest;
    if (newest === undefined || !place?.versions.some((version) => version.release === release)) continue;
    holding.push({ catalog: name, serial: newest.serial, digest: newest.digests['catalog.yaml'] });
  }
  return holding;
}

/** Functions whose kinds differ only by case are one. */
export function turnOf({ group, kind }: FunctionName): string {
  return `${group}/${kind.toLowerCase()}`;
}

export function busy(group: string, kind: string): KrmhubError {
  return new KrmhubError('unavailable', `${group}/${kind} is being changed by others all the time`, {
    hint: 'Nothing was stored; try again.',
  });
}
