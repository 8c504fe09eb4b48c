/** One process of a registry syncs its sources: the leader, which the others ask. */

import { SERVER_LIMITS } from '../limits.js';
import type { Leader } from '../workers/processes/leader.js';
import { onLeader, WhileLeading } from '../workers/processes/on-leader.js';
import type { CatalogRefresher } from './catalog-refresher.js';

/** The refresher as any process has it: its own while it leads, else that of the leader. */
export function ledRefresher(make: () => CatalogRefresher, leader: Leader) {
  const led = new WhileLeading(make, 'another process syncs the sources of this registry');
  const role = onLeader<Pick<CatalogRefresher, 'refreshNow' | 'waitFor'>>(
    'refresher',
    {
      refreshNow: async (input) => led.needed.refreshNow(input),
      waitFor: async (input) => led.needed.waitFor(input),
    },
    leader,
  );
  const refresher: CatalogRefresher = {
    // The leader wakes its refresher after each recipe, of whatever process.
    wake: () => led.known?.wake(),
    async refreshNow(input) {
      await role.call('refreshNow', input, SERVER_LIMITS.refreshWaitMilliseconds);
      await role.catchUp();
    },
    async waitFor(input) {
      const waited = role.call('waitFor', input, input.milliseconds);
      return leader.isHere ? waited : waited.catch(() => false);
    },
    stop: () => led.stop(),
  };
  return { refresher, led, methods: role.methods };
}
