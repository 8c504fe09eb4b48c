import type { RegistryClient } from '@krmhub/api/client';
import { registryUrl } from '@krmhub/consume/references/registry-url';
import type { RepositoryReference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { connect } from './connection.js';
import { tokenFor, useToken } from './credentials.js';
import { ociCredentials, refuseUnencrypted } from './find-credentials.js';
import { identityTokenHint, mayHaveIdentityToken, workflowIdentityToken } from './identity-token.js';

/**
 * In the run of a CI workflow, exchanges the token of the provider for one of the registry, which this process uses from
 * then on to publish in `groups`: no stored secret is needed, and a stored one is not used. If the registry does not
 * trust the workflow, what `findStored` finds is used with a warning; without it, it rejects with the reason.
 */
export async function signInAsWorkflow(
  io: Io,
  registry: string | undefined,
  groups: readonly string[],
  findStored: (io: Io, url: URL) => Promise<unknown> = tokenFor,
): Promise<void> {
  const { parseRegistryUrl } = await import('@krmhub/api/client');
  const url = parseRegistryUrl(registryUrl(io, registry));
  const own = url.href.replace(/\/+$/, '');
  if (!mayHaveIdentityToken(io)) {
    const hint = identityTokenHint(io, own);
    if (hint === undefined || (await findStored(io, url)) !== undefined) return;
    throw new KrmhubError('unauthorized', `the job has no identity token, and no token of ${own}`, { hint });
  }
  refuseUnencrypted(io, url);
  try {
    const client = await connect(io, registry);
    const audience = await registryAudience(client);
    if (audience === undefined) return;
    // Else a registry could ask for the token of another one, and use it there.
    if (audience !== own) {
      throw new KrmhubError('usage', `the registry at ${own} says that its URL is ${audience}`, {
        hint: `Use that URL: --registry ${audience}`,
      });
    }
    const token = await workflowIdentityToken(io, audience);
    if (token === undefined) return;
    const exchanged = await client.exchangeToken({ token, groups: [...new Set(groups)] });
    useToken(io, url, exchanged.token);
    io.trace?.(`credentials for ${url.origin}: a trusted publisher of ${exchanged.publishes.join(', ')}`);
  } catch (error) {
    if (!(error instanceof KrmhubError) || (await findStored(io, url)) === undefined) throw error;
    const isAway = error.code === 'unreachable' || error.code === 'unavailable';
    const why = isAway ? 'cannot sign in as this workflow' : 'this workflow is not a trusted publisher';
    await printWarning(io, `${why}, so the stored token is used: ${escapeControls(error.message)}`);
  }
}

/** Returns the audience of identity tokens for a registry; undefined for one of an older version. */
async function registryAudience(client: RegistryClient): Promise<string | undefined> {
  try {
    return (await client.oidcAudience()).audience;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
    throw error;
  }
}

/** Does so before a push, if the repository is of functions, or of their scripts, in the configured registry. */
export async function signInToRepository(
  io: Io,
  { registry, repository }: RepositoryReference,
  configured: string | undefined,
): Promise<void> {
  const group = /^(?:functions|scripts)\/([^/]+)\//.exec(repository)?.[1];
  if (group === undefined || parseUrl(registryUrl(io, configured))?.host !== registry) return;
  await signInAsWorkflow(io, configured, [group], ociCredentials);
}
