import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';

/** Parses an http or https URL without credentials, query and fragment. Throws `usage` for other text. */
export function parseRegistryUrl(text: string): URL {
  const hint = 'Use a URL such as https://krm.example.com or http://localhost:8080.';
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new KrmhubError('usage', `"${printable(text)}" is not a valid registry URL`, { hint });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new KrmhubError('usage', `"${printable(text)}" is not an http or https URL`, { hint });
  }
  if (url.username !== '' || url.password !== '') {
    throw new KrmhubError('usage', 'the registry URL contains a user name or password', {
      hint: 'Use `krmhub login` or KRMHUB_TOKEN instead. Logs can contain URLs.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new KrmhubError('usage', 'the registry URL has a query or a fragment', { hint });
  }
  return url;
}
