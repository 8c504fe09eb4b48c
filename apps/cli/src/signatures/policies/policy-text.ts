import type { RegistryClient } from '@krmhub/api/client';
import { KrmhubError } from '@krmhub/schema/error';

/** Reads the text of all signing policies of a registry. Throws `forbidden` for a client that may not read them all. */
export async function readPolicyText(client: RegistryClient): Promise<string> {
  const { text } = await client.policies();
  if (text !== undefined) return text;
  throw new KrmhubError('forbidden', `you may not read all signing policies of ${client.url}`, {
    hint: 'Use a token of an administrator. `krmhub policy list` shows the policies of the groups that you may read.',
  });
}
