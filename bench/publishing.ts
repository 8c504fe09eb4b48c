import { fillPath } from '@krmhub/api/paths';
import type { LoadRequest } from './load-client.js';
import type { Server } from './server.js';
import { SyntheticFunctions, type SyntheticRelease } from './synthetic/definitions.js';

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
