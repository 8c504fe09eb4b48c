import type { EventStore } from '@krmhub/catalog';
import { permanentId } from './atom.js';

/**
 * Returns the ID of a feed. It depends on the first event of the registry, which never changes, and not on its URL:
 * after a move to another host, readers still know the feed.
 */
export async function feedId(store: EventStore, path: string): Promise<string> {
  const [first] = await store.events(0, 1);
  return permanentId('feed', first === undefined ? '' : `${first.at} ${first.type}`, path);
}
