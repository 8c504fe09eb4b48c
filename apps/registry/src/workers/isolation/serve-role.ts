/** Runs a role in a worker thread: the side of the thread that has it. */

import { once } from 'node:events';
import { constants, platform, setPriority } from 'node:os';
import { MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Methods, Reports } from './role.js';
import { type SentError, sentError } from './sent-error.js';

export interface Call {
  id: number;
  method: string;
  input: unknown;
}
export type CallResult = { id: number; result: unknown } | { id: number; error: SentError };
export interface Notice {
  notice: string;
  input: unknown;
}

/** The `workerData` of a thread that serves a role. */
export interface RoleInput {
  input: unknown;
  logLevel: string;
}

/** The thread that started this one. */
export interface Parent<Notices extends Reports<Notices> = object> {
  /** Level of its log. */
  logLevel: string;
  report<Name extends keyof Notices & string>(name: Name, ...notice: Parameters<Notices[Name]>): void;
  countStatements(statements: number): void;
  /** Runs work after the method `stop` of the role; the last added first. */
  afterStop(work: () => Promise<void>): void;
}

/**
 * Opens a role with the input from the parent thread, which may come after the start of this one, and runs its methods.
 * In the background, responses come before its work.
 */
export async function serveRole<Input, Role extends Methods<Role>, Notices extends Reports<Notices> = object>(
  open: (input: Input, parent: Parent<Notices>) => Role | Promise<Role>,
  { inBackground }: { inBackground: boolean },
): Promise<void> {
  const { input, logLevel } = await roleInput();
  const stops: (() => Promise<void>)[] = [];
  // Only on Linux this is the priority of the thread, not of the process.
  if (inBackground && platform() === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const role = await open(input as Input, {
    logLevel,
    report,
    countStatements: (statements) => report('statements', statements),
    afterStop: (work) => void stops.unshift(work),
  });
  parentPort?.on('message', async ({ id, method, input: given }: Call) => {
    let response: CallResult;
    try {
      const work = role[method as keyof Role];
      if (work === undefined) throw new Error(`this thread has no method ${method}`);
      response = { id, result: await work.call(role, given as never) };
      if (method === 'stop') for (const stop of stops.splice(0)) await stop();
    } catch (error) {
      response = { id, error: sentError(error) };
    }
    parentPort?.postMessage(response);
  });
}

/** Sends the parent thread a message that is not a response. */
export function report(notice: string, input?: unknown): void {
  parentPort?.postMessage({ notice, input } satisfies Notice);
}

/** Returns the `workerData` of this thread, also if it was started before they were known. */
async function roleInput(): Promise<RoleInput> {
  if (!(workerData instanceof MessagePort)) return workerData as RoleInput;
  const [input] = await once(workerData, 'message');
  return input as RoleInput;
}
