import type { RecordingProxy } from './recording-proxy.js';

/** What a registry responded to the requests of a command, by path. */
export type RecordedResponses = Map<
  string,
  { status: number; headers: Record<string, string>; body: string }
>;

/** Asks the registry again for everything that was asked through the proxy. */
export async function recordResponses(proxy: RecordingProxy, registry: string): Promise<RecordedResponses> {
  const recorded: RecordedResponses = new Map();
  for (const { path } of proxy.requests) {
    const response = await fetch(registry + path);
    const headers = Object.fromEntries(response.headers);
    // Another state of the registry has other validators.
    for (const name of ['etag', 'content-encoding', 'content-length', 'transfer-encoding'])
      delete headers[name];
    recorded.set(path, { status: response.status, headers, body: await response.text() });
  }
  return recorded;
}

/** Responds with an earlier state of the registry, changed or as it was. Other requests reach the registry. */
export function replayResponses(
  proxy: RecordingProxy,
  recorded: RecordedResponses,
  change: (body: string) => string = (body) => body,
): void {
  proxy.intercept = (request, response) => {
    const found = recorded.get(request.url ?? '');
    if (found === undefined) return false;
    response.writeHead(found.status, found.headers).end(change(found.body));
    return true;
  };
}
