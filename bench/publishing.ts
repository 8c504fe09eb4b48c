import { setTimeout } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import { get } from './catalog-resources.js';
import type { LoadRequest } from './load-client.js';
import type { Server } from './server.js';
import { SyntheticFunctions, type SyntheticRelease } from './synthetic/definitions.js';

const DEADLINE_MILLISECONDS = 600_000;

let sources = 0;

/** Functions that no filled registry and no other source of this run has. */
export function newFunctions(): () => SyntheticRelease {
  sources += 1;
  const source = new SyntheticFunctions(1_000 + sources, { mark: `N${sources}` });
  return () => source.next()[0]!;
}

export function publishRequest(
  { token }: Server,
  { group, kind, release, text }: SyntheticRelease,
  query = '',
): LoadRequest & { body: string; headers: Record<string, string> } {
  return {
    method: 'PUT',
    path: fillPath('release', { group, kind, release }) + query,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/yaml' },
    body: text,
  };
}

/**
 * Returns the milliseconds from the publish request to the response with `default` that contains the release. A caller
 * that waits for snapshots waits for those of all catalogs that select the release.
 */
export async function publishUntilVisible(
  server: Server,
  release: SyntheticRelease,
  { waits }: { waits: boolean },
): Promise<number> {
  const { method, path: target, headers, body } = publishRequest(server, release, waits ? '?wait=true' : '');
  const started = performance.now();
  const answer = await fetch(server.url + target, { method, headers, body });
  if (answer.status !== 201) throw new Error(`${target}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
  const { group, kind } = release;
  const entry = server.url + fillPath('catalogEntry', { name: 'default', group, kind });
  // `wait` times out; a client that needs the function retries.
  while ((await get(entry)).status !== 200) {
    if (performance.now() - started > DEADLINE_MILLISECONDS)
      throw new Error(`${group}/${kind} never became visible`);
    await setTimeout(waits ? 20 : 5);
  }
  return performance.now() - started;
}
