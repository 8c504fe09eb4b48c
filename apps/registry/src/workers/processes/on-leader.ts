/** Roles that one process of a registry has at a time: the one that leads. The others ask it. */

import { KrmhubError } from '@krmhub/schema';
import type { Methods } from '../isolation/role.js';
import type { Leader } from './leader.js';
import type { CallMethods } from './leader-calls.js';

/** What this process makes when it begins to lead, and stops when it does not lead any more. */
export class WhileLeading<Work extends { stop(): Promise<void> }> {
  readonly #make: () => Work;
  readonly #elsewhere: string;
  #work: Work | undefined;

  /** `elsewhere` is the error where it is needed while another process leads. */
  constructor(make: () => Work, elsewhere: string) {
    this.#make = make;
    this.#elsewhere = elsewhere;
  }

  /** Undefined while another process leads. */
  get known(): Work | undefined {
    return this.#work;
  }

  /** Throws `unavailable` while another process leads. */
  get needed(): Work {
    if (this.#work !== undefined) return this.#work;
    throw new KrmhubError('unavailable', this.#elsewhere, { hint: 'Try again in a few seconds.' });
  }

  lead(): void {
    this.#work = this.#make();
  }

  async stop(): Promise<void> {
    await this.#work?.stop();
  }

  /** Ends the work, until the process leads again. */
  async follow(): Promise<void> {
    await this.stop();
    this.#work = undefined;
  }
}

export interface LeaderRole<Role extends Methods<Role>> {
  /** What the leader does for other processes. */
  methods: CallMethods;
  /** Calls the method here if this process leads, else on the leader, which has this time. */
  call<Name extends keyof Role & string>(
    method: Name,
    input: Parameters<Role[Name]>[0],
    milliseconds: number,
  ): Promise<Awaited<ReturnType<Role[Name]>>>;
  /** Resolves once this process knows of all events of the call before. */
  catchUp(): Promise<void>;
}

/** Returns a role as any process calls it. `role` runs its methods in this process, if it leads. */
export function onLeader<Role extends Methods<Role>>(
  name: string,
  role: Role,
  leader: Leader,
): LeaderRole<Role> {
  const methods = Object.entries(role as CallMethods).map(([method, work]) => [`${name}.${method}`, work]);
  return {
    methods: Object.fromEntries(methods),
    async call(method, input, milliseconds) {
      if (leader.isHere) return (await role[method](input as never)) as never;
      return (await leader.call(`${name}.${method}`, input, milliseconds)) as never;
    },
    async catchUp() {
      if (!leader.isHere) await leader.catchUp();
    },
  };
}
