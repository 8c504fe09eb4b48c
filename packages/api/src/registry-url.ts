import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';

const HINT = 'Use a URL such as https://krm.example.com or http://localhost:8080.';

/** Parses the URL of a registry as `parsePlainUrl` does. Throws `usage` also for the URL of a catalog. */
export function parseRegistryUrl(text: string): URL {
  const url = parsePlainUrl(text);
  const [, path] = /^(.*)\/catalogs\/[^/]+(?:\/|\/catalog\.yaml)?$/.exec(url.pathname) ?? [];
  if (path === undefined) return url;
  throw new KrmhubError('usage', `"${printable(text)}" is the URL of a catalog, not of a registry`, {
    hint: `Use ${printable(url.origin + path)}`,
  });
}

/** Parses an http or https URL without credentials, query and fragment. Throws `usage` for other text. */
export function parsePlainUrl(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new KrmhubError('usage', `"${printable(text)}" is not a valid registry URL`, { hint: HINT });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new KrmhubError('usage', `"${printable(text)}" is not an http or https URL`, { hint: HINT });
  }
  if (url.username !== '' || url.password !== '') {
    throw new KrmhubError('usage', 'the registry URL contains a user name or password', {
      hint: 'Use `krmhub login` or KRMHUB_TOKEN instead. Logs can contain URLs.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new KrmhubError('usage', 'the registry URL has a query or a fragment', { hint: HINT });
  }
  return url;
}
