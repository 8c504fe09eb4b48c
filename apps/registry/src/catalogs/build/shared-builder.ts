import { SERVER_LIMITS } from '../../limits.js';
import { LEADER_GRACE_MS, type Leader } from '../../workers/processes/leader.js';
import type { BuilderStatus, CatalogBuilder } from './catalog-builder.js';

/** What the leader does for builders of other processes. */
export function builderMethods(led: CatalogBuilder) {
  return {
    'builder.waitFor': ({ event, milliseconds, catalogs }: WaitInput) =>
      led.waitFor(event, milliseconds, catalogs),
    'builder.buildNow': ({ name }: { name: string }) => led.buildNow(name),
  };
}

interface WaitInput {
  event: number;
  milliseconds: number;
  catalogs?: readonly string[];
}

/** The builder of any process: the one of this process while it leads, or that of the leader. */
export function sharedBuilder(led: CatalogBuilder, leader: Leader): CatalogBuilder {
  let hasCaughtUp = false;
  return {
    ...withoutWaiting(led),
    async waitFor(event, milliseconds = SERVER_LIMITS.waitMilliseconds, catalogs) {
      if (leader.isHere) return led.waitFor(event, milliseconds, catalogs);
      const input: WaitInput = { event, milliseconds, ...(catalogs === undefined ? {} : { catalogs }) };
      try {
        if (!(await leader.call('builder.waitFor', input, milliseconds))) return false;
        // The caller reads what was built from this process.
        await leader.catchUp();
        return true;
      } catch {
        // No process leads, or the server cannot be reached: the build comes later.
        return false;
      }
    },
    async buildNow(name) {
      if (leader.isHere) return led.buildNow(name);
      await leader.call('builder.buildNow', { name }, SERVER_LIMITS.waitMilliseconds + LEADER_GRACE_MS);
      await leader.catchUp();
    },
    status() {
      const status = leader.isHere ? led.status() : statusOf(leader);
      // Catalogs are served as before while another process begins to lead.
      hasCaughtUp ||= status.caughtUp;
      return { ...status, caughtUp: hasCaughtUp };
    },
  };
}

function withoutWaiting(led: CatalogBuilder): Pick<CatalogBuilder, 'wake' | 'pause' | 'resume' | 'stop'> {
  return {
    // The leader wakes its builder after each event, of whatever process.
    wake: () => led.wake(),
    pause: () => led.pause(),
    resume: () => led.resume(),
    stop: () => led.stop(),
  };
}

function statusOf(leader: Leader): BuilderStatus {
  const status = leader.status() as BuilderStatus | undefined;
  return (
    status ?? { caughtUp: false, failure: 'the registry has no leader, which builds catalogs', failing: [] }
  );
}
