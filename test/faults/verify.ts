import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { createLog, readConfig, startRegistry } from '@krmhub/registry';
import { checkRegistry } from '@krmhub/registry/operate';
import { sha256 } from '@krmhub/schema';
import { lostArtifacts } from './artifacts.js';
import { GROUP, type Ledger } from './workload.js';

/** Returns the losses that a fault caused, as text; empty if nothing is lost. */
export async function lossesAfterKill(data: string, ledger: Ledger): Promise<string[]> {
  const before = await findDamage(data, 'before the restart');
  const registry = await startRegistry({
    config: readConfig({}, { host: '127.0.0.1', port: '0', data }),
    log: createLog('silent', { write: () => undefined }),
  });
  try {
    const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
    const losses = [...before, ...(await lossesOverHttp({ url: registry.url, token }, ledger))];
    return [...losses, ...(await findDamage(data, 'after the restart'))];
  } finally {
    await registry.close();
  }
}

/** Runs `krmhub fsck`; the registry may be running. */
export async function findDamage(data: string, when: string): Promise<string[]> {
  const { findings } = await checkRegistry(data, { startedAt: new Date() });
  return findings
    .filter(({ severity }) => severity === 'damage')
    .map(({ check, subject, message }) => `fsck ${when}: ${check}: ${subject}: ${message}`);
}

/** Everything acknowledged is served as it was sent, nothing partially, and the catalog is up to date. */
export async function lossesOverHttp(
  { url, token }: { url: string; token: string },
  ledger: Ledger,
): Promise<string[]> {
  const losses = [...ledger.wrongResponses.splice(0), ...(await lostArtifacts(url, ledger.artifacts))];
  const get = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, text: await response.text(), etag: response.headers.get('etag') };
  };
  const stored = new Set<string>();
  for (const [path, sent] of ledger.sent) {
    const { status, text } = await get(`${path}/definition.yaml`);
    if (status === 200) stored.add(sent.kind);
    if (sent.acknowledged ? status !== 200 : status !== 200 && status !== 404) {
      losses.push(`${path} was ${sent.acknowledged ? '' : 'not '}acknowledged, and responds with ${status}`);
      continue;
    }
    if (status === 404) continue;
    if (text !== sent.body) losses.push(`${path} has other bytes than were sent`);
    if (sent.readme !== undefined) {
      const readme = await get(`${path}/readme.md`);
      if (readme.status !== 200 || readme.text !== sent.readme) losses.push(`${path} lost its README`);
    }
    if (sent.yanked) {
      const { yanked } = JSON.parse((await get(path)).text) as { yanked?: unknown };
      if (yanked == null) losses.push(`${path} was yanked, and no longer is`);
    }
  }
  const cut = await fetch(`${url}/api/v1/catalogs/default/cut`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
  if (cut.status !== 200) losses.push(`the catalog is not built: ${cut.status} ${await cut.text()}`);
  else await cut.arrayBuffer();
  const catalog = await get('/catalogs/default/catalog.yaml');
  if (catalog.status !== 200) losses.push(`the catalog responds with ${catalog.status}`);
  if (!catalog.etag?.includes(sha256(catalog.text).slice(7)))
    losses.push('the catalog has another digest than its ETag');
  for (const kind of stored) {
    const { releases } = JSON.parse((await get(`/api/v1/functions/${GROUP}/${kind}`)).text) as {
      releases: { release: string; yanked?: unknown }[];
    };
    const newest =
      releases.find(({ release, yanked }) => yanked == null && !release.includes('-')) ??
      releases.find(({ yanked }) => yanked == null);
    if (newest !== undefined && !catalog.text.includes(`registry.example.com/faults:v${newest.release}`)) {
      losses.push(`the catalog lacks ${kind}@${newest.release}`);
    }
    const found = await whileUnavailable(() =>
      get(`/api/v1/functions?tag=${kind.toLowerCase()}&catalog=default`),
    );
    const { total } = JSON.parse(found.text) as { total?: number };
    if (newest !== undefined && total !== 1)
      losses.push(
        `search finds ${kind} ${total} times by its tag and catalog: ${found.status} ${found.text}`,
      );
  }
  return losses;
}

/** Attempts of a request, and milliseconds between two. */
const ATTEMPTS = 1_200;
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * Repeats a request while it gets 503: before the first snapshot of a new registry, and for a second after a search
 * thread met a fault.
 */
export async function whileUnavailable<Response extends { status: number }>(
  get: () => Promise<Response>,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const response = await get();
    if (response.status !== 503 || attempt === ATTEMPTS) return response;
    await setTimeout(BETWEEN_ATTEMPTS_MS);
  }
}
