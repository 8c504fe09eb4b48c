import { registryUrl } from '@krmhub/consume/references/registry-url';
import type { RepositoryReference } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { connect } from './connection.js';
import { tokenFor, useToken } from './credentials.js';
import { ociCredentials, refuseUnencrypted } from './find-credentials.js';
import { mayHaveIdentityToken, workflowIdentityToken } from './identity-token.js';

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
  if (!mayHaveIdentityToken(io)) return;
  const { parseRegistryUrl } = await import('@krmhub/api/client');
  const url = parseRegistryUrl(registryUrl(io, registry));
  refuseUnencrypted(io, url);
  try {
    const client = await connect(io, registry);
    const { audience } = await client.oidcAudience();
    const own = url.href.replace(/\/+$/, '');
    // Else a registry could ask for the token of another one, and use it there.
    if (audience !== own) {
      throw new KrmhubError('usage', `the registry at ${own} says that its URL is ${audience}`, {
        hint: `Use that URL: --registry ${audience}`,
      });
    }
    const identity = await workflowIdentityToken(io, audience);
    if (identity === undefined) return;
    const { token, publishes } = await client.exchangeToken({
      token: identity,
      groups: [...new Set(groups)],
    });
    useToken(io, url, token);
    io.trace?.(`credentials for ${url.origin}: a trusted publisher of ${publishes.join(', ')}`);
  } catch (error) {
    // A registry of an older version.
    if (error instanceof KrmhubError && error.code === 'not-found') return;
    if (!(error instanceof KrmhubError) || (await findStored(io, url)) === undefined) throw error;
    await printWarning(
      io,
      `this workflow is not a trusted publisher, so the stored token is used: ${error.message}`,
    );
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
