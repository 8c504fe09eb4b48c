import { provider as findProvider } from '@krmhub/catalog/access/trusted-publishers/providers';
import type { CiProvider } from '@krmhub/schema';
import { KrmhubError } from '@krmhub/schema/error';
import { networkReason } from '@krmhub/schema/network-reason';
import type { Io } from '../io/io.js';
import { getText } from './get-text.js';

/** A workflow that is about to be trusted. */
export interface NamedWorkflow {
  provider: CiProvider;
  settings: Readonly<Record<string, string>>;
  issuer?: string | undefined;
}

/** How a provider is asked for the IDs of a repository. */
interface Question {
  url: URL;
  headers: Record<string, string>;
  /** Names of pins, with where the answer has them. */
  ids: Record<string, readonly string[]>;
}

/**
 * Returns the IDs of a repository as its provider has them now. Undefined for providers that have no public answer.
 * Rejects with `conflict` if the repository has another name now, with `not-found` if it does not exist, or nobody may see
 * it without credentials, and with `unreachable`.
 */
export async function providerIds(
  io: Io,
  workflow: NamedWorkflow,
): Promise<Record<string, string> | undefined> {
  const question = questionFor(io, workflow);
  if (question === undefined) return undefined;
  const { url, headers, ids } = question;
  const where = `${url.host}${decodeURIComponent(url.pathname)}`;
  const { status, body } = await getText(io, url, headers).catch((error: unknown) => {
    throw new KrmhubError('unreachable', `cannot ask ${url.host} for the IDs: ${networkReason(error)}`);
  });
  // Who registers the old name could be the first to use the publisher.
  if (status === 301 || status === 308) {
    throw new KrmhubError('conflict', `${where} has moved: status ${status}`, {
      hint: 'The repository has another name now. Use that one, or set its IDs with --id.',
    });
  }
  if (status === 404 || status === 401 || status === 403 || status === 429) {
    throw new KrmhubError('not-found', `${where}: status ${status}`);
  }
  const found = status === 200 ? parse(body) : undefined;
  const entries = Object.entries(ids).map(([pin, path]) => [pin, idAt(found, path)] as const);
  if (entries.some(([, id]) => id === undefined)) {
    throw new KrmhubError('unreachable', `${where}: status ${status}, without the IDs of a repository`);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

function questionFor(io: Io, { provider, settings, issuer }: NamedWorkflow): Question | undefined {
  const { repository, project } = settings;
  const { issuer: usual, api: apiOf } = findProvider(provider);
  const api = apiOf?.(issuer ?? usual ?? '');
  if (api === undefined) return undefined;
  const host = new URL(api).hostname.replace(/^api\./, '');
  if (provider === 'github' && repository !== undefined) {
    const isPublic = host === 'github.com';
    const secret = isPublic ? (io.env.GH_TOKEN ?? io.env.GITHUB_TOKEN) : io.env.GH_ENTERPRISE_TOKEN;
    // Its host is set, as GitHub's own command line has it: no secret is sent to another one.
    const isFor = isPublic || io.env.GH_HOST === host;
    return {
      url: new URL(`${api}/repos/${repository.split('/').map(encodeURIComponent).join('/')}`),
      headers: isFor && secret ? { Authorization: `Bearer ${secret}` } : {},
      ids: { repositoryId: ['id'], ownerId: ['owner', 'id'] },
    };
  }
  if (provider === 'gitlab' && project !== undefined) {
    const { GITLAB_TOKEN: secret, GITLAB_HOST: given = 'gitlab.com' } = io.env;
    const isFor = [new URL(api).host, api.replace(/\/api\/v4$/, '')].includes(given);
    return {
      url: new URL(`${api}/projects/${encodeURIComponent(project)}`),
      headers: isFor && secret ? { Authorization: `Bearer ${secret}` } : {},
      ids: { projectId: ['id'], namespaceId: ['namespace', 'id'] },
    };
  }
  return undefined;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

/** Numbers are texts in tokens. */
function idAt(value: unknown, path: readonly string[]): string | undefined {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return Number.isSafeInteger(found) ? String(found) : undefined;
}
