import { LocalLock } from './local-lock.js';
import type { LedWork, Processes } from './processes.js';

/** The only process of a registry. It always leads. */
export function onlyProcess(): Processes {
  const lock = new LocalLock();
  const led: LedWork[] = [];
  return {
    id: undefined,
    leads: true,
    joined: () => 1,
    bytesLock: lock,
    async onLead(work) {
      led.push(work);
      await work.start();
    },
    pauses: (builder) => lock.pauses(builder),
    beforeDrained: () => undefined,
    ensureCurrent: () => undefined,
    hasLeader: () => true,
    async stop() {
      for (let work = led.pop(); work !== undefined; work = led.pop()) await work.stop();
    },
  };
}
