import type { Agent } from 'node:http';
import { KrmhubError } from '@krmhub/schema/error';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { getProxyForUrl } from 'proxy-from-env';

/** The way to a registry through the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name, if they do. */
export function proxyAgent(registry: URL): Agent | undefined {
  const named = getProxyForUrl(registry);
  if (named === '') return undefined;
  const proxy = URL.canParse(named) ? new URL(named) : undefined;
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:') {
    // Not shown: it may hold a password.
    throw new KrmhubError(
      'usage',
      `the proxy that the environment names for ${registry.host} is no http or https URL`,
      {
        hint: 'Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY.',
      },
    );
  }
  return registry.protocol === 'https:' ? new HttpsProxyAgent(proxy) : new HttpProxyAgent(proxy);
}
