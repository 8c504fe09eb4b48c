import type { JsonObject, JsonValue } from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import type { FetchFile } from '../upstreams/fetch-file.js';

/**
 * Returns the configuration of an issuer (OpenID Connect Discovery 1.0, section 4), which must name that issuer. Rejects
 * with an Error that says why.
 */
export async function fetchConfiguration(issuer: string, fetch: FetchFile): Promise<JsonObject> {
  const found = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, fetch);
  if (!isObject(found)) throw new Error('its configuration is not a JSON object');
  if (found.issuer !== issuer) {
    throw new Error(`its configuration names the issuer ${JSON.stringify(found.issuer)?.slice(0, 300)}`);
  }
  return found;
}

/** Fetches JSON. Rejects with an Error that says why. */
export async function fetchJson(url: string, fetch: FetchFile): Promise<JsonValue> {
  const bytes = await fetch(url);
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as JsonValue;
  } catch {
    throw new Error(`${new URL(url).host} did not send JSON`);
  }
}
