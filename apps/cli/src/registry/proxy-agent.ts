import type { Agent } from 'node:http';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { getProxyForUrl } from 'proxy-from-env';

export interface ConfiguredProxy {
  url: string;
  agent: Agent;
}

/** Returns the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY configure for a URL, if any. */
export function configuredProxy(registry: URL): ConfiguredProxy | undefined {
  const named = getProxyForUrl(registry);
  if (named === '') return undefined;
  const proxy = parseUrl(named);
  if (proxy?.protocol !== 'http:' && proxy?.protocol !== 'https:') {
    // The message does not quote the URL: it can contain a password.
    throw new KrmhubError('usage', `the proxy for ${registry.host} is not an http or https URL`, {
      hint: `Correct HTTPS_PROXY, HTTP_PROXY, or ALL_PROXY, or run: export NO_PROXY=${registry.hostname}`,
    });
  }
  const agent = registry.protocol === 'https:' ? new HttpsProxyAgent(proxy) : new HttpProxyAgent(proxy);
  return { url: proxy.href, agent };
}
