import { SERVER_LIMITS } from '../limits.js';
import type { Leader } from '../workers/processes/leader.js';
import type { CatalogRefresher } from './catalog-refresher.js';

/** What the leader does for refreshers of other processes. */
export function refresherMethods(led: CatalogRefresher) {
  return {
    'refresher.refreshNow': ({ catalog, source }: { catalog: string; source: string }) =>
      led.refreshNow(catalog, source),
    'refresher.waitFor': ({ catalog, milliseconds }: { catalog: string; milliseconds: number }) =>
      led.waitFor(catalog, milliseconds),
  };
}

/** The refresher of any process: the one of this process while it leads, or that of the leader. */
export function sharedRefresher(led: CatalogRefresher, leader: Leader): CatalogRefresher {
  return {
    // The leader wakes its refresher after each recipe, of whatever process.
    wake: () => led.wake(),
    async refreshNow(catalog, source) {
      if (leader.isHere) return led.refreshNow(catalog, source);
      await leader.call('refresher.refreshNow', { catalog, source }, SERVER_LIMITS.refreshWaitMilliseconds);
      await leader.catchUp();
    },
    async waitFor(catalog, milliseconds) {
      if (leader.isHere) return led.waitFor(catalog, milliseconds);
      try {
        return (await leader.call('refresher.waitFor', { catalog, milliseconds }, milliseconds)) as boolean;
      } catch {
        return false;
      }
    },
    stop: () => led.stop(),
  };
}
